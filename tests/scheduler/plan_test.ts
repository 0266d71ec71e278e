import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { isDue, nextAtOffset, planFirst, planNext, splayOf } from "../../src/scheduler/plan.ts";
import { testRows } from "../support/rows.ts";

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
