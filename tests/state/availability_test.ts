import assert from "node:assert/strict";
import {
  availabilityOf,
  describeFaults,
  describeObserved,
  describeRunCounts,
  percent,
  summarise,
} from "../../src/state/availability.ts";
import type { MetricHour, Rollup } from "../../src/domain/store.ts";
import { DAY_MS, HOUR_MS } from "../../src/shared/time_units.ts";
import { NOW_MS } from "./records.ts";
import { addMeasured, measuredIn, sumMetrics } from "../../src/state/metric_sums.ts";
import { stableText } from "../../src/state/journal.ts";
import { type Rows, testRows } from "../support/rows.ts";
import { histogramOf } from "../../src/shared/histograms.ts";

const NONE = { ok: 0, unknown: 0, warning: 0, critical: 0 };

Deno.test("availabilityOf() counts a warning as up, and divides by the time with data", () => {
  const lastedMs = { ok: 70 * HOUR_MS, unknown: 5 * HOUR_MS, warning: 20 * HOUR_MS, critical: 5 * HOUR_MS };
  assert.deepEqual(availabilityOf(lastedMs), {
    observedMs: 100 * HOUR_MS,
    shares: { ok: 0.7, unknown: 0.05, warning: 0.2, critical: 0.05 },
    availability: 0.7 + 0.2,
  });
  assert.deepEqual(availabilityOf(NONE), { observedMs: 0, shares: null, availability: null });
});

Deno.test("percent() and describeFaults() never round a failure to zero", () => {
  const faults = { ...NONE, ok: 0.99999, critical: 0.00001 };
  assert.equal(percent(faults.ok, 2), "99.99%");
  assert.deepEqual(describeFaults(faults, 2), ["0.01% critical"]);
  assert.equal(percent(1, 2), "100%");
  assert.deepEqual(describeFaults({ ...NONE, ok: 1 }, 2), []);
  assert.deepEqual(describeFaults({ ...NONE, critical: 1 }, 3), ["100% critical"]);
  assert.deepEqual(describeFaults({ ok: 0.5, unknown: 0.2, warning: 0.07, critical: 0.23 }, 2), [
    "7.00% warning",
    "23.00% critical",
    "20.00% unknown",
  ]);
});

Deno.test("describeObserved() labels a period with the part that has data", () => {
  assert.equal(describeObserved(4 * 60_000, DAY_MS), "4 min observed");
  assert.equal(describeObserved(0.9 * DAY_MS, DAY_MS), "21 h 36 min observed");
  assert.equal(describeObserved(0.96 * DAY_MS, DAY_MS), null);
  // A roll-up is not divided, so there may be more than the period has.
  assert.equal(describeObserved(1.04 * DAY_MS, DAY_MS), null);
});

Deno.test("summarise() counts failed runs and their longest streak", () => {
  const rollup = (startMs: number, failed: number, failedStreakMax: number): Rollup => ({
    name: "web",
    startMs,
    spanMs: HOUR_MS,
    observed: { ...NONE, ok: 60 - failed, critical: failed },
    lastedMs: { ...NONE, ok: HOUR_MS },
    durationTotalMs: 600,
    durationMaxMs: 20,
    failedStreakMax,
    durations: histogramOf(10).map((runs) => runs * 60),
    metrics: null,
  });
  const rollups = [
    rollup(NOW_MS - DAY_MS - HOUR_MS, 50, 50),
    rollup(NOW_MS - HOUR_MS, 3, 2),
    rollup(NOW_MS, 0, 0),
    rollup(NOW_MS + HOUR_MS, 60, 60),
  ];
  const summary = summarise(rollups, { sinceMs: NOW_MS - DAY_MS, untilMs: NOW_MS });
  assert.deepEqual([summary.runs, summary.failedRuns, summary.failedStreakMax], [120, 3, 2]);
  assert.equal(describeRunCounts(summary), "3 of 120 runs not ok, 2 in a row at most");
  assert.equal(describeRunCounts({ runs: 1, failedRuns: 0, failedStreakMax: 0 }), "1 run");
});

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

Deno.test("addMeasured() begins again each hour", () => {
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

Deno.test("stableText() replaces the numbers that change from run to run", async (t) => {
  const table: Rows<[text: string, stable: string]> = {
    "a duration": ["no response after 12.5 s", "no response after # s"],
    "a duration without a space": ["took 350ms, 1h30m at most", "took #, # at most"],
    "whole milliseconds that look like a status": ["took 350 ms", "took # ms"],
    "a status": ["status is 503, expected 200", "status is 503, expected 200"],
    "a count": ["3 of 5 failed, 1,234 left", "# of # failed, # left"],
    "a percentage": ["/: 97% used, 3.1 % free", "/: # used, # % free"],
    "a size": ["200 MB free, 1GiB required", "# MB free, # required"],
    "a negative number": ["offset is -12.5", "offset is -#"],
    "times": ["last at 2026-01-31T10:00:12Z, 10:00:12", "last at #, #"],
    "an address with a port": ["refused by 10.0.0.5:443", "refused by 10.0.0.5:443"],
    "names with digits": ["web1 and db-2 failed: sha256", "web1 and db-2 failed: sha256"],
    "an id": ["request 8f3a2b1c4d, 123e4567-e89b-12d3-a456-426614174000", "request #, #"],
    "words that could be hexadecimal": ["defaced facade", "defaced facade"],
    "other scripts": ["Überlast: 4,5 von 8", "Überlast: # von #"],
    "no number": ["connection refused", "connection refused"],
  };
  await testRows(t, table, ([text, stable]) => assert.equal(stableText(text), stable));
});
