import assert from "node:assert/strict";
import fc from "../support/property.ts";
import {
  addHistograms,
  addValue,
  BUCKETS_MAX,
  type ValueHistogram,
  valuePercentiles,
} from "../../src/shared/value_histogram.ts";
import { campaign } from "../../testing/seed.ts";

function histogramOf(values: readonly number[]): ValueHistogram {
  return values.reduce(addValue, []);
}

function percentiles(values: readonly number[], histogram = histogramOf(values)) {
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
  const histogram = histogramOf(values);
  const found = percentiles(values, histogram) ?? assert.fail();
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
      const histogram = histogramOf(values);
      assert.ok(bucketsOf(histogram) <= BUCKETS_MAX);
      assert.deepEqual(histogramOf(values.toReversed()), histogram);
      assert.deepEqual(JSON.parse(JSON.stringify(histogram)), histogram);
      if (new Set(values).size <= BUCKETS_MAX) assert.ok(errorOf(histogram) < 5e-6);
    }),
    { numRuns: campaign(1000) },
  );
  const upTo = (most: number) =>
    bucketsOf(histogramOf(Array.from({ length: most }, (_, index) => index + 1)));
  assert.equal(upTo(BUCKETS_MAX), BUCKETS_MAX);
  assert.ok(upTo(BUCKETS_MAX + 1) < BUCKETS_MAX);
});

Deno.test("addHistograms() adds up to one of all values, in any order and grouping", () => {
  fc.assert(
    fc.property(VALUES, VALUES, VALUES, (a, b, c) => {
      const [one, two, three] = [a, b, c].map(histogramOf) as [
        ValueHistogram,
        ValueHistogram,
        ValueHistogram,
      ];
      const all = addHistograms([one, two, three]);
      assert.deepEqual(addHistograms([addHistograms([one, two]), three]), all);
      assert.deepEqual(addHistograms([three, addHistograms([[], two, one])]), all);
      assert.notEqual(percentiles([...a, ...b, ...c], all), null);
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
      const { p50, p95, p99 } = percentiles(values) ?? assert.fail();
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
