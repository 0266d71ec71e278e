import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { isDue, nextAtOffset, planFirst, planNext, splayOf } from "../../src/scheduler/next_run.ts";
import { testRows } from "../support/rows.ts";
import type { Check } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import { openStateRepository, type StateRepository } from "../../src/state/state_repository.ts";
import { isCheckDue, recordRequested } from "../../src/scheduler/next_run.ts";
import { openInMemoryStore } from "../../src/state/sqlite/sqlite_store.ts";
import { testCheck } from "../support/checks.ts";
import { createSilentEngine } from "../../testing/silent_engine.ts";
import { createLagReporter, type LagSummary } from "../../src/scheduler/stall_safe.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";

const MINUTE = 60_000;

Deno.test("splayOf() spreads names over the interval, deterministically", () => {
  const buckets = new Array<number>(10).fill(0);
  for (let index = 0; index < 10_000; index++) {
    const splay = splayOf(`check ${index}`);
    assert.ok(splay >= 0 && splay < 1);
    const bucket = Math.floor(splay * 10);
    buckets[bucket] = (buckets[bucket] ?? 0) + 1;
  }
  for (const count of buckets) assert.ok(count > 850 && count < 1150, `uneven: ${buckets.join(" ")}`);
  assert.strictEqual(splayOf("web"), splayOf("web"));
});

Deno.test("nextAtOffset() returns the next time at the offset", () => {
  fc.assert(fc.property(
    fc.integer({ min: 0, max: 2e12 }),
    fc.integer({ min: 1000, max: 1e9 }),
    fc.double({ min: 0, max: 0.999, noNaN: true }),
    (afterMs, intervalMs, splay) => {
      const next = nextAtOffset(afterMs, intervalMs, splay);
      assert.ok(next > afterMs && next <= afterMs + intervalMs);
      const offset = next % intervalMs;
      // Those of the same 20 ms are begun together.
      assert.strictEqual(offset % 20, 0);
      assert.ok(offset <= splay * intervalMs && offset > splay * intervalMs - 20);
    },
  ));
});

Deno.test("planNext() keeps a fixed rate at the offset, and skips the times during a long run", async (t) => {
  const rows: Readonly<
    Record<
      string,
      readonly [plannedMs: number, nowMs: number, atMs: number, missed: number, attentive?: number]
    >
  > = {
    "a quick run": [15_000, 15_400, 75_000, 0],
    "a run as long as its interval": [15_000, 75_000, 135_000, 1],
    "a run over three planned times": [15_000, 200_000, 255_000, 3],
    "a first run off the offset, late": [50_000, 50_100, 135_000, 0],
    "a first run off the offset, early": [20_000, 20_100, 75_000, 0],
    "an attentive run": [75_000, 75_100, 85_000, 0, 10_000],
    "the offset again after an attentive run": [85_000, 85_100, 135_000, 0],
  };
  await testRows(t, rows, ([plannedMs, nowMs, atMs, missed, attentiveIntervalMs = null]) => {
    const plan = { regularIntervalMs: MINUTE, attentiveIntervalMs, splay: 0.25, plannedMs, nowMs };
    assert.deepStrictEqual(planNext(plan), { atMs, missed });
  });
});

Deno.test("planNext() never returns a time in the past or present", () => {
  fc.assert(fc.property(
    fc.integer({ min: 0, max: 2e12 }),
    fc.integer({ min: 0, max: 1e9 }),
    fc.integer({ min: 1000, max: 1e8 }),
    fc.option(fc.integer({ min: 1000, max: 1e8 })),
    fc.double({ min: 0, max: 0.999, noNaN: true }),
    (plannedMs, tookMs, regularIntervalMs, attentiveIntervalMs, splay) => {
      const nowMs = plannedMs + tookMs;
      const plan = planNext({ plannedMs, nowMs, regularIntervalMs, attentiveIntervalMs, splay });
      assert.ok(plan.atMs > nowMs);
      assert.ok(plan.atMs <= nowMs + 1.5 * (attentiveIntervalMs ?? regularIntervalMs));
      assert.ok(plan.missed >= 0);
    },
  ));
});

Deno.test("planFirst() starts overdue checks, then those that never ran, and keeps the plans of the others", async (t) => {
  const rows: Readonly<
    Record<
      string,
      readonly [keptMs: number | null, intervalMs: number, splay: number, expected: number, isBehind?: true]
    >
  > = {
    "never ran, short interval": [null, 10_000, 0.5, 1_000_500],
    "never ran, behind overdue checks": [null, 10_000, 0.5, 1_000_750, true],
    "never ran, long interval": [null, 1e9, 0.5, 1_005_000],
    "overdue": [900_000, 1e9, 0.5, 1_001_500],
    "planned": [1_020_000, MINUTE, 0, 1_020_000],
    "planned too far ahead": [9e9, MINUTE, 0, 1_020_000],
  };
  await testRows(t, rows, ([keptMs, intervalMs, splay, expected, isBehindOverdue = false]) => {
    const plan = { keptMs, nowMs: 1_000_000, intervalMs, splay, isBehindOverdue };
    assert.strictEqual(planFirst(plan), expected);
  });
});

Deno.test("isDue() tolerates a tenth of the interval, 30 s at most", () => {
  const aheadMs = (intervalMs: number, ...plans: readonly number[]): readonly boolean[] =>
    plans.map((ms) => isDue(100_000 + ms, 100_000, intervalMs));
  assert.deepEqual(aheadMs(MINUTE, -100_000, 6_000, 6_001), [true, true, false]);
  assert.deepEqual(aheadMs(1440 * MINUTE, 30_000, 31_000), [true, false]);
});

const SECOND = 1000;
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
  assert.strictEqual(late(NOW), null, "it was not planned");
  const plannedMs = repository.recordOf("web", NOW).nextRunAtMs ?? NaN;
  assert.strictEqual(late(plannedMs - 2 * MINUTE), null, "it came before its time");
  assert.strictEqual(late(plannedMs + 5 * SECOND), 5 * SECOND);
});

Deno.test("createLagReporter() logs the first late run at once, and those of a minute in one line with the greatest lag", async () => {
  const clock = createFakeClock();
  const reported: LagSummary[] = [];
  const note = createLagReporter({ after: clock.after, report: (lag) => void reported.push(lag) });
  note("z", 999);
  assert.deepStrictEqual(reported, []);
  note("a", 1000);
  assert.deepStrictEqual(reported, [{ count: 1, highestMs: 1000, name: "a" }]);
  await clock.advance(10_000);
  note("b", 2000);
  note("c", 9000);
  note("d", 3000);
  await clock.advance(49_999);
  assert.strictEqual(reported.length, 1);
  await clock.advance(1);
  assert.deepStrictEqual(reported[1], { count: 3, highestMs: 9000, name: "c" });
  await clock.advance(60_000);
  assert.strictEqual(reported.length, 2, "a minute without lateness is not reported");
  note("e", 1000);
  assert.deepStrictEqual(
    reported[2],
    { count: 1, highestMs: 1000, name: "e" },
    "the next one is reported at once",
  );
  await clock.advance(120_000);
  assert.strictEqual(clock.timers, 0);
});
