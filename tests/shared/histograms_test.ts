import assert from "node:assert/strict";
import fc from "../support/property.ts";
import {
  addHistograms,
  addValue,
  addValueHistograms,
  BOUNDS_MS,
  BUCKETS_MAX,
  type Histogram,
  histogramOf,
  NO_RUNS,
  percentilesOf,
  type ValueHistogram,
  valuePercentiles,
} from "../../src/shared/histograms.ts";
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

function valueHistogramOf(values: readonly number[]): ValueHistogram {
  return values.reduce(addValue, []);
}

function percentilesOfValues(values: readonly number[], histogram = valueHistogramOf(values)) {
  return valuePercentiles(histogram, {
    runs: values.length,
    min: Math.min(...values),
    max: Math.max(...values),
  });
}

const EXTREMES = [
  0,
  -0,
  1,
  -1,
  5e-324,
  -5e-324,
  2.2e-308,
  1e308,
  -1e308,
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
];

/** Of every magnitude and sign, and some that are near each other, as those of an hour are. */
const VALUES = fc.oneof(
  fc.array(fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(...EXTREMES)), {
    minLength: 1,
    maxLength: 200,
  }),
  fc.tuple(
    fc.double({ min: -300, max: 300, noNaN: true }),
    fc.array(fc.double({ min: -2, max: 3, noNaN: true }), { minLength: 1, maxLength: 200 }),
  ).map(([exponent, values]) => values.map((value) => value * 10 ** exponent)),
  fc.array(fc.integer({ min: -20, max: 200 }), { minLength: 1, maxLength: 200 }),
);

/** The relative width of its buckets. */
function errorOf([scale = 0]: ValueHistogram): number {
  return 2 ** (2 ** -scale) - 1;
}

function assertNear(values: readonly number[]): void {
  const sorted = values.toSorted((one, other) => one - other);
  const histogram = valueHistogramOf(values);
  const found = percentilesOfValues(values, histogram) ?? assert.fail();
  for (const [share, value] of [[0.5, found.p50], [0.95, found.p95], [0.99, found.p99]] as const) {
    const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? assert.fail();
    const least = Math.min(Math.abs(exact), Math.abs(value));
    const isNear = Math.abs(exact - value) / least <= errorOf(histogram) + 5.1e-5;
    assert.ok(exact === value || isNear || Math.abs(exact - value) <= 5e-324, `${share}: ${value}, ${exact}`);
    assert.ok(value >= Math.min(...values) && value <= Math.max(...values));
  }
  assert.ok(found.p50 <= found.p95 && found.p95 <= found.p99);
}

Deno.test("valuePercentiles() is off by the width of a bucket at most, whatever the values are", () => {
  fc.assert(fc.property(VALUES, assertNear), { numRuns: campaign(3000) });
});

Deno.test("valuePercentiles() distinguishes the smallest numbers from 0 alongside the largest ones of both signs", () => {
  const amounts = Array.from({ length: 2098 }, (_, index) => 2 ** (index - 1074));
  assertNear([...amounts, ...amounts.slice(40).map((value) => -value)]);
  assertNear([...amounts.slice(40), ...amounts.map((value) => -value)]);
});

function bucketsOf(histogram: ValueHistogram): number {
  return histogram.slice(2).filter((count) => count > 0).length;
}

Deno.test("addValue() has so many buckets at most, in the finest scale, in any order", () => {
  fc.assert(
    fc.property(VALUES, (values) => {
      const histogram = valueHistogramOf(values);
      assert.ok(bucketsOf(histogram) <= BUCKETS_MAX);
      assert.deepEqual(valueHistogramOf(values.toReversed()), histogram);
      assert.deepEqual(JSON.parse(JSON.stringify(histogram)), histogram);
      if (new Set(values).size <= BUCKETS_MAX) assert.ok(errorOf(histogram) < 5e-6);
    }),
    { numRuns: campaign(1000) },
  );
  const upTo = (most: number) =>
    bucketsOf(valueHistogramOf(Array.from({ length: most }, (_, index) => index + 1)));
  assert.equal(upTo(BUCKETS_MAX), BUCKETS_MAX);
  assert.ok(upTo(BUCKETS_MAX + 1) < BUCKETS_MAX);
});

Deno.test("addValueHistograms() adds up to one of all values, in any order and grouping", () => {
  fc.assert(
    fc.property(VALUES, VALUES, VALUES, (a, b, c) => {
      const [one, two, three] = [a, b, c].map(valueHistogramOf) as [
        ValueHistogram,
        ValueHistogram,
        ValueHistogram,
      ];
      const all = addValueHistograms([one, two, three]);
      assert.deepEqual(addValueHistograms([addValueHistograms([one, two]), three]), all);
      assert.deepEqual(addValueHistograms([three, addValueHistograms([[], two, one])]), all);
      assert.notEqual(percentilesOfValues([...a, ...b, ...c], all), null);
    }),
    { numRuns: campaign(1000) },
  );
});

Deno.test("valuePercentiles() is exact to five digits for few different values", async (t) => {
  const cases: readonly (readonly [name: string, values: readonly number[], expected: readonly number[]])[] =
    [
      ["one value", [7], [7, 7, 7]],
      ["whole numbers", [...Array.from({ length: 90 }, () => 1), 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], [1, 6, 10]],
      ["below zero", [-5, -4, -3, -2, -1], [-3, -1, -1]],
      ["zeros and a spike", [...Array.from({ length: 96 }, () => 0), 1e9, 1e9, 1e9, 2e9], [0, 0, 1e9]],
      ["the largest numbers", [-1e308, 1e308], [-1e308, 1e308, 1e308]],
      ["the smallest numbers", [-5e-324, 0, 5e-324], [0, 5e-324, 5e-324]],
      ["a power of two is the end of its bucket", Array.from({ length: 20 }, () => 1024), [1024, 1024, 1024]],
    ];
  for (const [name, values, expected] of cases) {
    await t.step(name, () => {
      const { p50, p95, p99 } = percentilesOfValues(values) ?? assert.fail();
      assert.deepEqual([p50, p95, p99], expected);
    });
  }
});

Deno.test("valuePercentiles() knows none without values, or if the bucket of one is missing", () => {
  assert.equal(valuePercentiles([], { runs: 0, min: 0, max: 0 }), null);
  assert.equal(valuePercentiles([], { runs: 2, min: 1, max: 2 }), null);
  assert.equal(valuePercentiles(addValue([], 1), { runs: 2, min: 1, max: 2 }), null);
});

Deno.test("addValue() ends also with the numbers of a damaged row", () => {
  const damaged = [18, -Infinity, -Infinity, ...Array.from({ length: 40 }, () => 1)];
  assert.equal(addValue(damaged, 3)[0], -8);
});
