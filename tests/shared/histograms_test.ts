import assert from "node:assert/strict";
import fc from "../support/property.ts";
import {
  addHistograms,
  BOUNDS_MS,
  type Histogram,
  histogramOf,
  NO_RUNS,
  percentilesOf,
} from "../../src/shared/duration_histogram.ts";
import { campaign } from "../../testing/seed.ts";

function histogramOfAll(durationsMs: readonly number[]): Histogram {
  return durationsMs.map(histogramOf).reduce(addHistograms, NO_RUNS);
}

function percentiles(durationsMs: readonly number[]) {
  return percentilesOf({
    runs: durationsMs.length,
    durations: histogramOfAll(durationsMs),
    durationMaxMs: Math.max(0, ...durationsMs),
  });
}

/** From microseconds to an hour, each magnitude as often, and the bounds. */
const DURATION_MS = fc.oneof(
  fc.double({ min: -3, max: 6.5, noNaN: true }).map((exponent) => 10 ** exponent),
  fc.constantFrom(0, ...BOUNDS_MS),
);

Deno.test("percentilesOf() is in the bucket of the exact percentile, at most 1.6 times off", () => {
  fc.assert(
    fc.property(fc.array(DURATION_MS, { minLength: 1, maxLength: 300 }), (durationsMs) => {
      const sorted = durationsMs.toSorted((one, other) => one - other);
      const found = percentiles(durationsMs) ?? assert.fail();
      for (const [share, ms] of [[0.5, found.p50], [0.95, found.p95], [0.99, found.p99]] as const) {
        const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? assert.fail();
        const factor = (Math.max(exact, 1) + 1e-9) / (Math.max(ms, 1) + 1e-9);
        const isBeyond = exact > 63_000;
        assert.ok(isBeyond ? ms >= 63_000 : factor < 1.61 && factor > 1 / 1.61, `${share}: ${ms}, ${exact}`);
        assert.ok(ms <= Math.max(...durationsMs));
      }
      assert.ok(found.p50 <= found.p95 && found.p95 <= found.p99);
    }),
    { numRuns: campaign(3000) },
  );
});

Deno.test("addHistograms() adds up to the histogram of all runs, in any order", () => {
  const runs = fc.array(DURATION_MS, { maxLength: 50 });
  fc.assert(
    fc.property(runs, runs, runs, (a, b, c) => {
      const [one, two, three] = [a, b, c].map(histogramOfAll) as [Histogram, Histogram, Histogram];
      const all = histogramOfAll([...a, ...b, ...c]);
      assert.deepEqual(addHistograms(addHistograms(one, two), three), all);
      assert.deepEqual(addHistograms(three, addHistograms(two, one)), all);
      assert.equal(all.reduce((sum, count) => sum + count, 0), a.length + b.length + c.length);
    }),
    { numRuns: campaign(1000) },
  );
});

Deno.test("percentilesOf() interpolates within a bucket, up to the longest run", async (t) => {
  const cases: readonly (readonly [name: string, durationsMs: readonly number[], expected: unknown])[] = [
    ["no run", [], null],
    ["one run", [12], { p50: 11, p95: 11.9, p99: 11.98 }],
    ["as fast as nothing", [0], { p50: 0, p95: 0, p99: 0 }],
    ["beyond all bounds", [120_000], { p50: 91_500, p95: 117_150, p99: 119_430 }],
    ["mostly fast", [...Array.from({ length: 98 }, () => 2), 500, 600], {
      p50: 1.6 + 0.9 * 50 / 98,
      p95: 1.6 + 0.9 * 95 / 98,
      p99: 500,
    }],
  ];
  for (const [name, durationsMs, expected] of cases) {
    await t.step(name, () => {
      const found = percentiles(durationsMs);
      if (expected === null) return assert.equal(found, null);
      for (const [key, value] of Object.entries(expected as object)) {
        assert.ok(
          Math.abs((found?.[key as "p50"] ?? NaN) - value) < 1e-9,
          `${key}: ${found?.[key as "p50"]}`,
        );
      }
    });
  }
});

Deno.test("percentilesOf() knows none if the duration of a run is missing", () => {
  assert.equal(percentilesOf({ runs: 2, durations: histogramOf(5), durationMaxMs: 5 }), null);
});
