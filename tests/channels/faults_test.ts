/** One fault at any byte of a delivery: `deno task soak faults` tries all. */
import { startEmailTarget, startWebhookTarget } from "../support/channel_fault_targets.ts";
import { createTrust } from "../support/check_faults.ts";
import { runFaults } from "../support/fault_runs.ts";

Deno.test("the webhook channel has delivered what the receiver has accepted, and nothing else", async (t) => {
  using trust = createTrust();
  for (const target of [startWebhookTarget(), startWebhookTarget(trust)]) {
    await using running = target;
    await t.step(running.name, () => runFaults(running).then(() => {}));
  }
});

Deno.test({
  name: "the email channel has delivered what the server has accepted, and nothing else",
  // npm smtp-server keeps timers for some seconds; sockets and timers of ours are counted all the same.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using target = await startEmailTarget();
    await runFaults(target);
  },
});
