import assert from "node:assert/strict";
import { addMeasured, measuredIn, sumMetrics } from "../../src/state/metric_sums.ts";
import type { MetricHour } from "../../src/domain/store.ts";
import { DAY_MS, HOUR_MS } from "../../src/shared/time_units.ts";
import { NOW_MS } from "./records.ts";

function measured(metrics: Readonly<Record<string, number>>, performanceData = "") {
  return { metrics, performanceData };
}

function hourOf(results: readonly ReturnType<typeof measured>[], nowMs = NOW_MS): MetricHour | null {
  return results.reduce<MetricHour | null>((hour, result) => addMeasured(hour, result, nowMs), null);
}

/** The sums without histograms. */
function plainSums(sums: MetricHour["sums"] | null | undefined) {
  return sums && Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum.slice(0, 4)]));
}

Deno.test("addMeasured() keeps count, total, lowest and highest value of each metric", async (t) => {
  const rows:
    readonly (readonly [name: string, results: readonly ReturnType<typeof measured>[], sums: unknown])[] = [
      ["nothing", [measured({})], undefined],
      ["a metric", [measured({ load1: 0.5 }), measured({ load1: 1.5 }), measured({})], {
        load1: [2, 2, 0.5, 1.5],
      }],
      ["below zero", [measured({ offset: -3 }), measured({ offset: -1 })], { offset: [2, -4, -3, -1] }],
      ["performance data with its unit", [measured({}, "/=5MB;10;20 load=0.25 c=7c u=U")], {
        "/ (MB)": [1, 5, 5, 5],
        load: [1, 0.25, 0.25, 0.25],
      }],
      ["no threshold, code or part of the duration", [
        measured({
          free_percent: 7,
          free_percent_critical_below: 5,
          status: 200,
          total_ms: 3,
          certificate_left_seconds: 9,
        }),
      ], { free_percent: [1, 7, 7, 7] }],
      ["no value that is not finite", [measured({ a: NaN, b: Infinity, c: 1 })], { c: [1, 1, 1, 1] }],
      ["no total beyond all numbers", [measured({ a: 1e308 }), measured({ a: 1e308, b: 1 })], {
        b: [1, 1, 1, 1],
      }],
      [
        "names of every object",
        [measured({}, "__proto__=1 constructor=2")],
        Object.fromEntries([["__proto__", [1, 1, 1, 1]], ["constructor", [1, 2, 2, 2]]]),
      ],
    ];
  for (const [name, results, sums] of rows) {
    await t.step(name, () => assert.deepEqual(plainSums(hourOf(results)?.sums), sums));
  }
});

Deno.test("addMeasured() keeps the first eight metrics of an hour", () => {
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`m${index}`, index]));
  const hour = hourOf([measured(many), measured({ other: 1, m0: 4 })]);
  assert.deepEqual(Object.keys(hour?.sums ?? {}), ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"]);
  assert.deepEqual(plainSums(hour?.sums)?.["m0"], [2, 4, 0, 4]);
});

Deno.test("addMeasured() begins each hour anew", () => {
  const before = hourOf([measured({ load1: 5 })]);
  const after = addMeasured(before, measured({ load1: 1 }), NOW_MS + HOUR_MS);
  assert.deepEqual(after?.startMs, NOW_MS + HOUR_MS);
  assert.deepEqual(measuredIn(after?.sums["load1"] ?? []), {
    ...{ runs: 1, min: 1, mean: 1, max: 1 },
    percentiles: { p50: 1, p95: 1, p99: 1 },
  });
  assert.equal(addMeasured(null, measured({}), NOW_MS), null);
});

Deno.test("addMeasured() continues an hour that the clock returns to", async (t) => {
  const rows: readonly (readonly [name: string, hours: readonly number[], runs: readonly number[]])[] = [
    ["an hour ahead and back", [0, 1, 0, 1], [2, 2]],
    ["back at the end of an hour", [0, 1, 0, 1, 0, 1], [3, 3]],
    ["ahead over several hours", [0, 5, 5, 0, 1, 2, 3, 4, 5], [2, 1, 1, 1, 1, 3]],
    ["a year ahead, then some hours", [0, 9000, 0, 2, 0, 1, 2], [3, 1, 2]],
    ["back over several hours", [5, 0, 5], [1, 0, 0, 0, 0, 2]],
  ];
  for (const [name, hours, runs] of rows) {
    await t.step(name, () => {
      const stored = new Map<number, number>();
      let record: MetricHour | null = null;
      for (const hour of hours) {
        const nowMs = NOW_MS + hour * HOUR_MS;
        record = addMeasured(record, measured({ load1: 1 }), nowMs);
        // A run without values changes nothing.
        record = addMeasured(record, measured({}), nowMs + HOUR_MS);
        stored.set(hour, record?.sums["load1"]?.[0] ?? 0);
      }
      assert.deepEqual(runs.map((_, hour) => stored.get(hour) ?? 0), runs);
    });
  }
});

Deno.test("sumMetrics() adds hours, and knows nothing of a span with a day", () => {
  const loads = (values: readonly number[]) =>
    hourOf(values.map((load1) => measured({ load1 })))?.sums ?? null;
  const hours = [loads([2, 3, 4]), null, loads([-9])].map((metrics) => ({ spanMs: HOUR_MS, metrics }));
  const sums = sumMetrics(hours);
  assert.deepEqual(plainSums(sums), { load1: [4, 0, -9, 4] });
  const { percentiles } = measuredIn(sums?.["load1"] ?? []);
  assert.deepEqual(Object.values(percentiles ?? {}).map((value) => value.toFixed(3)), [
    "2.000",
    "4.000",
    "4.000",
  ]);
  assert.equal(sumMetrics([...hours, { spanMs: DAY_MS, metrics: null }]), null);
});

Deno.test("measuredIn() knows no percentiles of an hour that a version without histograms began or continued", () => {
  const old = { startMs: Math.floor(NOW_MS / HOUR_MS) * HOUR_MS, sums: { load1: [1, 2, 2, 2] } };
  const begun = addMeasured(old, measured({ load1: 4 }), NOW_MS);
  assert.deepEqual(measuredIn(begun?.sums["load1"] ?? []), {
    ...{ runs: 2, min: 2, mean: 3, max: 4 },
    percentiles: null,
  });
  const sums = sumMetrics([old, hourOf([measured({ load1: 1 })])].map((hour) => ({
    spanMs: HOUR_MS,
    metrics: hour?.sums ?? null,
  })));
  assert.equal(measuredIn(sums?.["load1"] ?? []).percentiles, null);
});
