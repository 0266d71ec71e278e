import assert from "node:assert/strict";
import {
  availabilityOf,
  describeFaults,
  describeObserved,
  describeRunCounts,
  percent,
  summarise,
} from "../../src/state/availability.ts";
import type { Rollup } from "../../src/domain/store.ts";
import { histogramOf } from "../../src/shared/histograms.ts";
import { DAY_MS, HOUR_MS } from "../../src/shared/time_units.ts";
import { NOW_MS } from "./records.ts";

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
