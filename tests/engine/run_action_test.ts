import assert from "node:assert/strict";
import type { ActionRun, Condition } from "../../src/domain/condition.ts";
import { runAction } from "../../src/engine/run_action.ts";
import { newRecord } from "../../src/state/record_cache.ts";
import { checkOf } from "../../testing/builders.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";

const BEGUN: ActionRun = { atMs: 1_000, endedAtMs: null, outcome: "none", reason: "" };
const CHECK = checkOf("test", { condition: "critical", output: "" });

async function outcomeWith(observed: Condition, actions: readonly ActionRun[]): Promise<string> {
  const action = {
    ...{ path: "/bin/fix", arguments: [], environment: {} },
    ...{ after: 1, atMost: 2, timeoutMs: 1, settleMs: 1 },
  };
  const record = newRecord("web", 0);
  const condition = { ...record.condition, observed, actions };
  const options = {
    system: { ...createMemorySystem(), processes: { run: () => Promise.reject(new Error("it started")) } },
    repository: { isWritable: true, recordOf: () => ({ ...record, condition }), keep: () => {} },
    directory: "/",
    signal: new AbortController().signal,
  };
  try {
    const ended = await runAction({ ...CHECK, action }, BEGUN, options);
    return ended === null ? "another decision" : `${ended.outcome}: ${ended.reason}`;
  } catch (error) {
    return String(error);
  }
}

Deno.test("runAction() starts nothing that is not due any more once others have ended", async () => {
  assert.equal(await outcomeWith("critical", [BEGUN]), "Error: it started");
  assert.equal(await outcomeWith("critical", []), "another decision");
  assert.equal(await outcomeWith("ok", [BEGUN]), "not_started: the check is not critical any more");
  assert.equal(
    await outcomeWith("critical", [BEGUN, { ...BEGUN, atMs: 2_000 }]),
    "not_started: a later run began before",
  );
});
