import assert from "node:assert/strict";
import type { Check } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import { openStateRepository, type StateRepository } from "../../src/state/state_repository.ts";
import { isCheckDue, recordRequested } from "../../src/scheduler/next_run.ts";
import { nextAtOffset, splayOf } from "../../src/scheduler/plan.ts";
import { openInMemoryStore } from "../../src/state/sqlite/sqlite_store.ts";
import { testCheck } from "../support/checks.ts";
import { testRows } from "../support/rows.ts";
import { createSilentEngine } from "../../testing/silent_engine.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const NOW = Date.UTC(2026, 0, 31, 10);

const CHECK = testCheck("ok", { name: "web", regularIntervalMs: 10 * MINUTE, attentiveIntervalMs: MINUTE });

async function open(): Promise<StateRepository> {
  const store = await openInMemoryStore();
  return await openStateRepository({ store, onFailure: () => {}, reopen: () => Promise.resolve(store) });
}

/** Records a requested run, which takes a second. */
function ask(
  repository: StateRepository,
  check: Check,
  { condition, atMs }: { readonly condition: Condition; readonly atMs: number },
): { readonly nextMs: number; readonly missed: number } {
  const result = {
    ...{ check, condition, output: "", detail: "", metrics: {}, performanceData: "" },
    startedAtMs: atMs,
    durationMs: SECOND,
  };
  const before = repository.recordOf(check.name, atMs);
  const { record } = recordRequested(before, result, {
    engine: createSilentEngine(repository),
    nowMs: atMs + SECOND,
  });
  return { nextMs: record.nextRunAtMs ?? NaN, missed: record.missedRuns - before.missedRuns };
}

function nextAfter(atMs: number): number {
  return nextAtOffset(atMs, 10 * MINUTE, splayOf("web"));
}

Deno.test("isCheckDue() follows the plan, unless it is impossible", async (t) => {
  const repository = await open();
  const { nextMs } = ask(repository, CHECK, { condition: "ok", atMs: NOW });
  const record = repository.recordOf("web", NOW);
  const rows: Readonly<Record<string, readonly [nowMs: number, expected: boolean]>> = {
    "planned for later": [nextMs - 31 * SECOND, false],
    "half a minute early": [nextMs - 30 * SECOND, true],
    "overdue": [nextMs + HOUR, true],
    "the clock was set back an hour": [nextMs - HOUR, true],
  };
  await testRows(t, rows, ([nowMs, expected]) => assert.equal(isCheckDue(CHECK, record, nowMs), expected));
  assert.ok(isCheckDue(CHECK, repository.recordOf("new", NOW), NOW), "never planned");
});

Deno.test("recordRequested() moves the plan of a check that was due", async (t) => {
  const rows = {
    "in time": { lateMs: 0, missed: 0 },
    "a little early": { lateMs: -30 * SECOND, missed: 0 },
    "late": { lateMs: 9 * MINUTE, missed: 0 },
    "after some planned times without a call": { lateMs: 25 * MINUTE, missed: 2 },
  };
  await testRows(t, rows, async ({ lateMs, missed }) => {
    const repository = await open();
    const first = ask(repository, CHECK, { condition: "ok", atMs: NOW });
    const atMs = first.nextMs + lateMs;
    assert.deepStrictEqual(ask(repository, CHECK, { condition: "ok", atMs }), {
      nextMs: first.nextMs + (missed + 1) * 10 * MINUTE,
      missed,
    });
  });
});

Deno.test("recordRequested() soon runs again after a requested run found a problem", async () => {
  const repository = await open();
  const { nextMs } = ask(repository, CHECK, { condition: "ok", atMs: NOW });
  const atMs = nextMs - 4 * MINUTE;
  const { nextMs: soonMs } = ask(repository, CHECK, { condition: "critical", atMs });
  assert.strictEqual(soonMs, atMs + MINUTE);
});

Deno.test("recordRequested() replaces an impossible plan", async () => {
  const repository = await open();
  ask(repository, CHECK, { condition: "ok", atMs: NOW });
  const { nextMs } = ask(repository, CHECK, { condition: "ok", atMs: NOW - 5 * HOUR });
  assert.strictEqual(nextMs, nextAfter(NOW - 5 * HOUR + 5 * MINUTE));
});

Deno.test("recordRequested() measures the lag of a planned run only", async () => {
  const repository = await open();
  const late = (atMs: number): number | null => {
    ask(repository, CHECK, { condition: "ok", atMs });
    return repository.recordOf("web", atMs).last?.lateMs ?? null;
  };
  assert.strictEqual(late(NOW), null, "nobody had planned it");
  const plannedMs = repository.recordOf("web", NOW).nextRunAtMs ?? NaN;
  assert.strictEqual(late(plannedMs - 2 * MINUTE), null, "it came before its time");
  assert.strictEqual(late(plannedMs + 5 * SECOND), 5 * SECOND);
});
