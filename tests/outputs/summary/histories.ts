import type { ConditionCounts } from "../../../src/domain/condition.ts";
import type { CheckHistory, RunSums } from "../../../src/outputs/summary/summarize.ts";
import { type ObjectiveResult, toObjective } from "../../../src/outputs/summary/objectives.ts";
import { histogramOf } from "../../../src/shared/histograms.ts";
import { DAY_MS, MINUTE_MS } from "../../../src/shared/time_units.ts";
import type { SplitTime } from "../../../src/state/split_time.ts";
import { NOW_MS, recordOf } from "../../state/records.ts";

export const NO_TIME: ConditionCounts = { ok: 0, unknown: 0, warning: 0, critical: 0 };

/** An objective of 30 days in which a check that runs each minute was observed, and down for so long. */
export function objectiveOf(
  percent: number,
  { downMs, observedMs = 30 * DAY_MS, uncertainMs = 0 }: {
    readonly downMs: number;
    readonly observedMs?: number;
    readonly uncertainMs?: number;
  },
): ObjectiveResult {
  const windowMs = 30 * DAY_MS;
  return toObjective({ percent, windowMs }, {
    ...NO_SPLIT_TIME,
    outages: downMs + uncertainMs > 0 ? 1 : 0,
    upMs: observedMs - downMs - uncertainMs,
    downMs,
    uncertainMs,
    notObservedMs: windowMs - observedMs,
  }, EACH_MINUTE);
}

export const EACH_MINUTE = { regularIntervalMs: MINUTE_MS, attentiveIntervalMs: MINUTE_MS };

export const NO_SPLIT_TIME: SplitTime = {
  outages: 0,
  upMs: 0,
  downMs: 0,
  uncertainMs: 0,
  ownNetworkMs: 0,
  monitorOffMs: 0,
  maintenanceMs: 0,
  notObservedMs: 0,
};

/** A week up to {@linkcode NOW_MS}. */
export const WEEK = { sinceMs: NOW_MS - 7 * DAY_MS, untilMs: NOW_MS };

/** The sums of runs that took equally long. */
export function runSums(runs: number, durationMs: number): RunSums {
  return {
    runs,
    durationTotalMs: runs * durationMs,
    durationMaxMs: runs === 0 ? 0 : durationMs,
    durations: histogramOf(durationMs).map((count) => count * runs),
  };
}

/** A check that was up all week. */
export function historyOf(name: string, fields: Partial<CheckHistory> = {}): CheckHistory {
  const record = recordOf(name);
  return {
    name,
    title: null,
    isJob: false,
    rehearsal: null,
    present: { condition: "ok", state: "current", last: "ok", reason: "" },
    objective: null,
    record: { ...record, condition: { ...record.condition, confirmed: "ok" } },
    changes: [],
    earlier: null,
    sums: { ...runSums(10_080, 40), lastedMs: { ...NO_TIME, ok: 7 * DAY_MS } },
    before: runSums(10_080, 20),
    ...fields,
  };
}
