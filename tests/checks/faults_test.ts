/**
 * One fault at any byte of an exchange with a target, and the results of checks. `deno task soak faults` tries all.
 */
import { type CheckTarget, createTrust } from "../support/check_faults.ts";
import { concurrentSteps } from "../support/concurrent_tests.ts";
import { startConnectionTargets } from "../support/connection_fault_targets.ts";
import { runFaults } from "../support/fault_runs.ts";
import { startHttpTargets, startTlsHttpTargets } from "../support/http_fault_targets.ts";

async function runAll(t: Deno.TestContext, targets: readonly CheckTarget[]): Promise<void> {
  await using steps = concurrentSteps(t, { runningMax: 3 });
  for (const target of targets) {
    steps.add(target.name, async () => {
      await using running = target;
      await runFaults(running);
    });
  }
}

Deno.test("observeHttpRequest() detects every fault in a response, and accepts no broken body as complete", async (t) => {
  await runAll(t, startHttpTargets());
});

Deno.test("observeHttpRequest() accepts no response that TLS does not authenticate", async (t) => {
  using trust = createTrust();
  await runAll(t, startTlsHttpTargets(trust));
});

Deno.test("observeTcpConnect() and observeTlsCertificate() detect every fault of a connection", async (t) => {
  using trust = createTrust();
  await runAll(t, await startConnectionTargets(trust));
});
