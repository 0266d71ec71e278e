/**
 * The values of a check's roll-ups over a span of time: the number of its runs, their duration, and the duration of
 * each condition.
 *
 * The rule of all of them: the time from one run to the next counts as the condition that the first one confirmed, if
 * the second one came before the check was overdue and was of the same kind and parameters. If the clock was set back, and
 * since the last run, only the time until the planned run counts. It ends when the service stopped or was last seen, or
 * the machine was suspended: `settleRecord` counts it then. All other time is not observed, such as that in which no
 * condition is confirmed, and a span in which the check did not run.
 */
import { type Condition, type ConditionCounts, CONDITIONS, eachCondition } from "../domain/condition.ts";
import { describeDuration } from "../domain/duration.ts";
import { sumMetrics } from "./metric_sums.ts";
import {
  type CheckRecord,
  type CheckUpdate,
  isEdited,
  type MetricSums,
  type Rollup,
} from "../domain/store.ts";
import type { Check } from "../domain/check.ts";
import { addHistograms, NO_RUNS, type Percentiles, percentilesOf } from "../shared/histograms.ts";
import { SECOND_MS } from "../shared/time_units.ts";

export interface RunCounts {
  readonly runs: number;
  /** Those that were not ok, confirmed or not. */
  readonly failedRuns: number;
  readonly failedStreakMax: number;
}

export interface SpanSummary extends RunCounts {
  readonly observed: ConditionCounts;
  readonly lastedMs: ConditionCounts;
  /** `null` without a run. */
  readonly durationMeanMs: number | null;
  /** `null` without a run. */
  readonly durationMaxMs: number | null;
  /** Those of the durations; `null`: without a run, or not known. */
  readonly percentiles: Percentiles | null;
  /** The measured values; `null`: not known of the whole span. */
  readonly metrics: MetricSums | null;
}

/** The sums of the roll-ups that end after a time and do not begin after another; none is divided. */
export function summarise(
  rollups: readonly Rollup[],
  { sinceMs, untilMs }: Readonly<Record<"sinceMs" | "untilMs", number>>,
): SpanSummary {
  const chosen = rollups.filter(({ startMs, spanMs }) => startMs + spanMs > sinceMs && startMs <= untilMs);
  const { lastedMs, durationTotalMs, durationMaxMs, failedStreakMax, durations } = chosen.reduce(
    addSums<Sums>,
    NO_SUMS,
  );
  const observed = chosen.reduce((sum, rollup) => addCounts(sum, rollup.observed), NO_COUNTS);
  const runs = total(observed);
  return {
    runs,
    failedRuns: runs - observed.ok,
    failedStreakMax,
    observed,
    lastedMs,
    durationMeanMs: runs === 0 ? null : durationTotalMs / runs,
    durationMaxMs: runs === 0 ? null : durationMaxMs,
    percentiles: percentilesOf({ runs, durations, durationMaxMs }),
    metrics: sumMetrics(chosen),
  };
}

/** What roll-ups and their sums have in common. */
type Sums = Pick<
  Rollup,
  "lastedMs" | "durationTotalMs" | "durationMaxMs" | "failedStreakMax" | "durations"
>;

/** Returns one with the sums of both. */
export function addSums<One extends Sums>(one: One, other: Sums): One {
  return {
    ...one,
    lastedMs: addCounts(one.lastedMs, other.lastedMs),
    durationTotalMs: one.durationTotalMs + other.durationTotalMs,
    durationMaxMs: Math.max(one.durationMaxMs, other.durationMaxMs),
    failedStreakMax: Math.max(one.failedStreakMax, other.failedStreakMax),
    durations: addHistograms(one.durations, other.durations),
  };
}

export function addCounts(one: ConditionCounts, other: ConditionCounts): ConditionCounts {
  return eachCondition((condition) => one[condition] + other[condition]);
}

export const NO_COUNTS: ConditionCounts = { ok: 0, unknown: 0, warning: 0, critical: 0 };

export const NO_SUMS: Sums = {
  lastedMs: NO_COUNTS,
  durationTotalMs: 0,
  durationMaxMs: 0,
  failedStreakMax: 0,
  durations: NO_RUNS,
};

/** A time in which a condition was the confirmed one. */
interface ObservedTime {
  readonly condition: Condition;
  readonly ms: number;
  /** Wall time of its end, milliseconds since 1970. */
  readonly untilMs: number;
}

/**
 * Returns the time from the last run of a record until another one ended; `null`: it is not observed. Only the time until
 * the planned run is, if it is unknown whether the monitor ran since.
 */
export function observedUntil(
  { condition: { confirmed, observedAtMs }, nextRunAtMs, overdueAtMs }: CheckRecord,
  timeMs: number,
  mayHaveStopped: boolean,
): ObservedTime | null {
  if (confirmed === null || observedAtMs === null || overdueAtMs === null) return null;
  if (timeMs < observedAtMs || timeMs > overdueAtMs) return null;
  const untilMs = mayHaveStopped ? Math.min(timeMs, Math.max(observedAtMs, nextRunAtMs ?? timeMs)) : timeMs;
  return { condition: confirmed, ms: untilMs - observedAtMs, untilMs };
}

/**
 * Returns a record as it counts as observed: until its last run, if the check was edited some time later, and no longer
 * than the service ran that ran it; `null`: none stopped.
 */
export function asObserved<Record extends CheckRecord | null>(
  check: Pick<Check, "definition" | "locations">,
  record: Record,
  ranUntilMs: number | null,
): Record {
  if (record === null) return record;
  const { condition: { observedAtMs }, nextRunAtMs } = record;
  if (isEdited(check, record)) return { ...record, overdueAtMs: observedAtMs };
  if (!isOfStopped(record, ranUntilMs)) return record;
  return { ...record, nextRunAtMs: Math.min(nextRunAtMs ?? Infinity, ranUntilMs) };
}

/** Returns whether the last run of a record was one of a service that ran until a time; a single call may have followed. */
function isOfStopped(
  { condition: { observedAtMs } }: CheckRecord,
  ranUntilMs: number | null,
): ranUntilMs is number {
  return ranUntilMs !== null && observedAtMs !== null && observedAtMs <= ranUntilMs;
}

/** Returns how long each condition was observed in a span that ends at a time: in its roll-ups, and since the last run. */
export function lastedIn(
  { runs, lastedMs }: Pick<SpanSummary, "runs" | "lastedMs">,
  record: CheckRecord | null,
  untilMs: number,
): ConditionCounts {
  if (runs === 0) return NO_COUNTS;
  const present = record === null ? null : observedUntil(record, untilMs, true);
  if (present === null) return lastedMs;
  return { ...lastedMs, [present.condition]: lastedMs[present.condition] + present.ms };
}

export interface Availability {
  /** For how long some condition was the confirmed one; the rest of a span has no data. */
  readonly observedMs: number;
  /** The share of each condition in that time, 0 to 1; `null` if it is less than a second. */
  readonly shares: ConditionCounts | null;
  /** The share in which the check was up: ok or warning; `null` like the shares. */
  readonly availability: number | null;
}

/** The shares of the conditions. A warning is no outage; `unknown` is not uptime. */
export function availabilityOf(lastedMs: ConditionCounts): Availability {
  const observedMs = total(lastedMs);
  if (observedMs < SECOND_MS) return { observedMs, shares: null, availability: null };
  const shares = eachCondition((condition) => lastedMs[condition] / observedMs);
  return { observedMs, shares, availability: shares.ok + shares.warning };
}

/** A share of 1 with so many places. Never rounded up to 100 %: that means without any fault. */
export function percent(share: number, places: number): string {
  return percentText(Math.floor(share * 100 * 10 ** places), places);
}

/** The shares of the conditions that are not ok and that there were: `0.01% warning`. Never rounded down to nothing. */
export function describeFaults(shares: ConditionCounts, places: number): readonly string[] {
  return FAULTS.filter((condition) => shares[condition] > 0)
    .map((condition) => {
      // The product may be a little more than it should, such as 700.0000000000001.
      const units = Math.max(1, Math.ceil(shares[condition] * 100 * 10 ** places - 1e-6));
      return `${percentText(units, places)} ${condition}`;
    });
}

const FAULTS = ["warning", "critical", "unknown"] as const satisfies readonly Condition[];

/** Describes the part of a period with data, such as `4 min observed`; `null` if it was nearly all of it. */
export function describeObserved(observedMs: number, periodMs: number): string | null {
  return observedMs > NEARLY_ALL * periodMs ? null : `${describeDuration(observedMs)} observed`;
}

const NEARLY_ALL = 0.95;

/** Returns how often a check ran and failed: `1 run`, `3 of 1440 runs not ok, 2 in a row at most`. */
export function describeRunCounts({ runs, failedRuns, failedStreakMax }: RunCounts): string {
  const all = `${runs} ${runs === 1 ? "run" : "runs"}`;
  return failedRuns === 0 ? all : `${failedRuns} of ${all} not ok, ${failedStreakMax} in a row at most`;
}

function percentText(units: number, places: number): string {
  const unit = 10 ** places;
  return units === 100 * unit ? "100%" : `${(units / unit).toFixed(places)}%`;
}

function total(counts: ConditionCounts): number {
  return CONDITIONS.reduce((subtotal, condition) => subtotal + counts[condition], 0);
}

/**
 * Counts the time from the last run of a record until the service ended that ran it. Whatever starts and stops until the
 * next run, no more is observed. `null`: another call ran it since, or it was counted already.
 */
export function settleRecord(before: CheckRecord, endMs: number): CheckUpdate | null {
  const { condition: { observedAtMs }, overdueAtMs, last } = before;
  // An agent goes on, and reports later what it observed.
  if (last?.report !== undefined) return null;
  if (!isOfStopped(before, endMs) || overdueAtMs === null || overdueAtMs <= (observedAtMs ?? 0)) return null;
  const observed = observedUntil(before, Math.min(endMs, overdueAtMs), true);
  const record = { ...before, overdueAtMs: observedAtMs };
  const rollup = observed === null || observed.ms === 0 ? null : {
    atMs: observed.untilMs,
    lastedMs: observed.ms,
    lasted: observed.condition,
    condition: null,
    durationMs: 0,
    failedStreak: 0,
  };
  return { record, rollup, change: null, queued: [] };
}
