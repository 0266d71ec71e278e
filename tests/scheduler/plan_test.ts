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
  const base = { regularIntervalMs: MINUTE, attentiveIntervalMs: null, splay: 0.25 };
  const rows = [
    { name: "a quick run", plannedMs: 15_000, nowMs: 15_400, expected: { atMs: 75_000, missed: 0 } },
    {
      name: "a run as long as its interval",
      plannedMs: 15_000,
      nowMs: 75_000,
      expected: { atMs: 135_000, missed: 1 },
    },
    {
      name: "a run over three planned times",
      plannedMs: 15_000,
      nowMs: 200_000,
      expected: { atMs: 255_000, missed: 3 },
    },
    {
      name: "a first run off the offset, late",
      plannedMs: 50_000,
      nowMs: 50_100,
      expected: { atMs: 135_000, missed: 0 },
    },
    {
      name: "a first run off the offset, early",
      plannedMs: 20_000,
      nowMs: 20_100,
      expected: { atMs: 75_000, missed: 0 },
    },
  ];
  for (const { name, plannedMs, nowMs, expected } of rows) {
    await t.step(name, () => assert.deepStrictEqual(planNext({ ...base, plannedMs, nowMs }), expected));
  }
  await t.step("attentive runs in a row, then the offset again", () => {
    const attentive = planNext({ ...base, plannedMs: 75_000, nowMs: 75_100, attentiveIntervalMs: 10_000 });
    assert.deepStrictEqual(attentive, { atMs: 85_000, missed: 0 });
    assert.deepStrictEqual(planNext({ ...base, plannedMs: 85_000, nowMs: 85_100 }), {
      atMs: 135_000,
      missed: 0,
    });
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
  const rows = {
    "never ran, short interval": { keptMs: null, intervalMs: 10_000, splay: 0.5, expected: 1_000_500 },
    "never ran, long interval": { keptMs: null, intervalMs: 1e9, splay: 0.5, expected: 1_005_000 },
    "overdue": { keptMs: 900_000, intervalMs: 1e9, splay: 0.5, expected: 1_001_500 },
    "planned": { keptMs: 1_020_000, intervalMs: MINUTE, splay: 0, expected: 1_020_000 },
    "planned too far ahead": { keptMs: 9e9, intervalMs: MINUTE, splay: 0, expected: 1_020_000 },
  };
  await testRows(t, rows, ({ keptMs, intervalMs, splay, expected }) => {
    assert.strictEqual(planFirst({ keptMs, nowMs: 1_000_000, intervalMs, splay }), expected);
  });
});

Deno.test("isDue() tolerates a tenth of the interval, 30 s at most", async (t) => {
  const rows = [
    { name: "past", plannedMs: 0, intervalMs: MINUTE, expected: true },
    { name: "a tenth ahead", plannedMs: 106_000, intervalMs: MINUTE, expected: true },
    { name: "more than a tenth ahead", plannedMs: 106_001, intervalMs: MINUTE, expected: false },
    { name: "30 s ahead of a day", plannedMs: 130_000, intervalMs: 1440 * MINUTE, expected: true },
    { name: "31 s ahead of a day", plannedMs: 131_000, intervalMs: 1440 * MINUTE, expected: false },
  ];
  for (const { name, plannedMs, intervalMs, expected } of rows) {
    await t.step(name, () => assert.strictEqual(isDue(plannedMs, 100_000, intervalMs), expected));
  }
});
