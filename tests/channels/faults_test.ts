/** One fault at any byte of a delivery: `deno task soak faults` tries all. */
import assert from "node:assert/strict";
import { campaign } from "../../testing/seed.ts";
import { testWith } from "../../testing/tools.ts";
import { startWebhookTarget } from "../support/channel_fault_targets.ts";
import { createTrust } from "../support/check_faults.ts";
import { runFaultProcess } from "../support/fault_process.ts";
import { runFaults } from "../support/fault_runs.ts";

Deno.test("the webhook channel returns delivered exactly for requests that the receiver accepted", async (t) => {
  using trust = createTrust();
  for (const target of [startWebhookTarget(), startWebhookTarget(trust)]) {
    await using running = target;
    await t.step(running.name, () => runFaults(running).then(() => {}));
  }
});

// The CA certificates for TLS are fixed when a process starts, and the server of the tests keeps timers for some
// seconds.
const EMAILS =
  "the email channel returns delivered exactly for emails that the server accepted, and leaks no connection";
testWith("time")(EMAILS, async () => {
  const { holdings: [before, after] } = await runFaultProcess({
    rounds: 1,
    targets: "mails",
    places: Number(Deno.env.get("FAULT_PLACES") ?? campaign(50, 2)),
  });
  assert.ok(before !== undefined);
  assert.deepEqual(after?.sockets, before.sockets);
});
