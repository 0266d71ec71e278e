/** Objectives, compared with what the runs of a check returned: met, missed, or undecided. Pure. */
import type { ConditionCounts } from "../../domain/condition.ts";
import { describeDuration } from "../../domain/duration.ts";
import { errorBudgetMs, type Objective } from "../../domain/limits.ts";
import { type Schedule, sightOf } from "../../domain/schedule.ts";
import { SECOND_MS } from "../../shared/time_units.ts";
import { percent } from "../../state/availability.ts";
import type { SplitTime } from "../../state/split_time.ts";

/** An objective is decided once so much of its time was observed. */
const DECIDED_SHARE = 0.1;

export function downMsOf({ critical, unknown }: ConditionCounts): number {
  return critical + unknown;
}

/** `cannot_tell`: both are possible with the schedule of the check. */
export type Verdict = "met" | "missed" | "cannot_tell" | "too_little_observed";

export interface Bounds {
  readonly lower: number;
  readonly upper: number;
}

export interface ObjectiveResult extends Objective {
  readonly verdict: Verdict;
  /** Of the observed time, 0 to 1; `null` without any. */
  readonly availability: Bounds | null;
  /** The downtime. */
  readonly usedMs: Bounds;
  /** The error budget of the observed time. */
  readonly budgetMs: number;
  /** The longest interval with which it would probably be decided; `null`: it is, or none would be. */
  readonly tellingIntervalMs: number | null;
  readonly time: SplitTime;
}

/** Compares an objective with the time that ends with the period. */
export function toObjective(objective: Objective, time: SplitTime, schedule: Schedule): ObjectiveResult {
  const { upMs, downMs, uncertainMs } = time;
  const observedMs = observedMsOf(time);
  const usedMs = { lower: downMs, upper: downMs + uncertainMs };
  const budgetMs = errorBudgetMs(objective, observedMs);
  const verdict = verdictOf({ ...objective, observedMs, usedMs, budgetMs, time }, schedule);
  return {
    ...objective,
    verdict,
    availability: observedMs < SECOND_MS
      ? null
      : { lower: upMs / observedMs, upper: (upMs + uncertainMs) / observedMs },
    usedMs,
    budgetMs,
    tellingIntervalMs: verdict === "cannot_tell" ? tellingInterval({ usedMs, budgetMs }, schedule) : null,
    time,
  };
}

function observedMsOf({ upMs, downMs, uncertainMs }: SplitTime): number {
  return upMs + downMs + uncertainMs;
}

function verdictOf(
  { windowMs, observedMs, usedMs: { lower, upper }, budgetMs, time: { outages } }:
    & Pick<ObjectiveResult, "windowMs" | "usedMs" | "budgetMs" | "time">
    & { readonly observedMs: number },
  schedule: Schedule,
): Verdict {
  if (observedMs < DECIDED_SHARE * windowMs) return "too_little_observed";
  if (lower > budgetMs || budgetMs === 0 && outages > 0) return "missed";
  // One outage that no run saw might use up the whole budget.
  return upper > budgetMs || sightOf(schedule).missedMs > budgetMs ? "cannot_tell" : "met";
}

/** Returns with which interval the same outages would decide it, if they took about the mean of their bounds. */
function tellingInterval(
  { usedMs: { lower, upper }, budgetMs }: Pick<ObjectiveResult, "usedMs" | "budgetMs">,
  schedule: Schedule,
): number | null {
  const share = upper > lower ? Math.min(1, Math.abs(2 * budgetMs - lower - upper) / (upper - lower)) : 1;
  const intervalMs = Math.min(sightOf(schedule).missedMs * share, budgetMs);
  return intervalMs < SECOND_MS ? null : intervalMs;
}

/** Describes an objective, such as `99.9% in 30 d met: 99.951% to 99.962% up, 16 min to 21 min of 43 min error budget used`. */
export function describeObjective(objective: ObjectiveResult): string {
  const { percent: wanted, windowMs, verdict, availability, budgetMs, usedMs, tellingIntervalMs, time } =
    objective;
  const target = `${wanted}% in ${describeDuration(windowMs)}`;
  const causes = describeCauses(objective);
  if (availability === null) return `${target}: no data${causes}`;
  const up = between(percent(availability.lower, PLACES), percent(availability.upper, PLACES));
  const used = between(describeDuration(usedMs.lower), describeDuration(usedMs.upper));
  const known = `${up} up, ${used} of ${describeDuration(budgetMs)} error budget used`;
  const advice = tellingIntervalMs === null
    ? ""
    : `; an interval of ${describeDuration(tellingIntervalMs)} could`;
  return {
    met: `${target} met: ${known}`,
    missed: `${target} missed: ${known}`,
    cannot_tell: `${target}: can't tell with this interval${advice}: ${known}`,
    too_little_observed: `${target}: too little of it was observed: ${
      describeDuration(observedMsOf(time))
    }, at least ${describeDuration(DECIDED_SHARE * windowMs)} required`,
  }[verdict] + causes;
}

function between(lower: string, upper: string): string {
  return lower === upper ? lower : `${lower} to ${upper}`;
}

/** Describes the time that does not count, with its causes; empty: there was little. */
function describeCauses({ windowMs, time }: Pick<ObjectiveResult, "windowMs" | "time">): string {
  const causes = CAUSES.flatMap(([key, words]) =>
    time[key] < SHOWN_SHARE * windowMs ? [] : [`${words} ${describeDuration(time[key])}`]
  );
  return causes.length === 0 ? "" : `; not counted: ${causes.join(", ")}`;
}

const CAUSES = [
  ["maintenanceMs", "maintenance"],
  ["ownNetworkMs", "no network here"],
  ["monitorOffMs", "monitor off"],
  ["notObservedMs", "not observed"],
] as const satisfies readonly (readonly [keyof SplitTime, string])[];

const SHOWN_SHARE = 0.001;

const PLACES = 3;

/** The fields of an objective in JSON; fields are only ever added. */
export function objectiveFields(objective: ObjectiveResult): object {
  const { availability, usedMs, time, tellingIntervalMs } = objective;
  return {
    percent: objective.percent,
    window_ms: objective.windowMs,
    verdict: objective.verdict,
    availability_lower: availability?.lower ?? null,
    availability_upper: availability?.upper ?? null,
    budget_ms: objective.budgetMs,
    used_lower_ms: Math.round(usedMs.lower),
    used_upper_ms: Math.round(usedMs.upper),
    telling_interval_ms: tellingIntervalMs === null ? null : Math.floor(tellingIntervalMs),
    outages: time.outages,
    time: {
      up_ms: Math.round(time.upMs),
      down_ms: Math.round(time.downMs),
      uncertain_ms: Math.round(time.uncertainMs),
      own_network_ms: Math.round(time.ownNetworkMs),
      monitor_off_ms: Math.round(time.monitorOffMs),
      maintenance_ms: Math.round(time.maintenanceMs),
      not_observed_ms: Math.round(time.notObservedMs),
    },
  };
}
