/**
 * Confirms a check's condition by its results, and derives from it the due notification, the suppression of dependents,
 * and the interval.
 */
import type { CheckSettings } from "../domain/check.ts";
import {
  type Condition,
  type ConditionCounts,
  CONDITIONS,
  type ConditionState,
  type ConditionTimes,
  eachCondition,
  type NotificationEvent,
  severity,
  type ShownCondition,
  type Suppression,
} from "../domain/condition.ts";

const NEVER: ConditionTimes = { pending: null, ok: null, unknown: null, warning: null, critical: null };

export function initialState(): ConditionState {
  return {
    confirmed: null,
    confirmedSinceMs: null,
    leftAtMs: NEVER,
    ...NO_RESULTS,
    recent: "",
    sinceLowered: 0,
    flappingSinceMs: null,
    observed: null,
    observedAtMs: null,
    problemBeganAtMs: null,
    notified: "ok",
    notifiedAtMs: null,
    notifiedSinceMs: null,
    reminders: 0,
    notifiedProblemBeganAtMs: null,
  };
}

export function confirmedAs(state: ConditionState, confirmed: Condition, nowMs: number): ConditionState {
  return {
    ...state,
    confirmed,
    confirmedSinceMs: nowMs,
    leftAtMs: { ...state.leftAtMs, [state.confirmed ?? "pending"]: nowMs },
    notifiedSinceMs: null,
  };
}

/** Returns whether the check uses the attentive interval: its last result was not `ok`, or a problem is confirmed. */
export function isAttentive(state: ConditionState): boolean {
  return hasProblem(state) || state.observed !== null && state.observed !== "ok";
}

export function hasProblem({ confirmed }: Pick<ConditionState, "confirmed">): boolean {
  return confirmed !== null && confirmed !== "ok";
}

/**
 * Returns the notification that is due unless it is suppressed; `null`: none is confirmed, or the confirmed one was
 * notified.
 */
export function dueEvent(
  { confirmed, notified }: Pick<ConditionState, "confirmed" | "notified">,
): Exclude<NotificationEvent, "reminder"> | null {
  if (confirmed === null || confirmed === notified) return null;
  if (confirmed === "ok") return "recovery";
  return notified === "ok" ? "problem" : "change";
}

/** Returns the condition before the problem for a channel without a notification: `pending` without an earlier `ok`. */
export function conditionBefore({ leftAtMs }: Pick<ConditionState, "leftAtMs">): "ok" | "pending" {
  return leftAtMs.ok === null ? "pending" : "ok";
}

/** Of a check that depends on another one, when its problem began, and its last result; wall time, milliseconds since 1970. */
export interface DependentTimes {
  /** The time of the present result without a problem. */
  readonly problemBeganAtMs: number;
  readonly observedAtMs: number;
}

/**
 * Returns whether a dependency suppresses the problem of a check that depends on it: while the dependency itself is
 * failing, and until it has run since the problem began, because the failure of a router is often detected after that
 * of the hosts behind it. Also until the check has run since the dependency recovered: most recover with it.
 */
export function dependencyHolds(dependency: ConditionState, times: DependentTimes): boolean {
  return isAttentive(dependency) || dependency.observedAtMs === null ||
    dependency.observedAtMs < times.problemBeganAtMs || hasRecoveredSince(dependency, times);
}

/** Returns whether a dependency has recovered since a check that depends on it ran. */
export function hasRecoveredSince(
  dependency: ConditionState,
  { observedAtMs }: Pick<DependentTimes, "observedAtMs">,
): boolean {
  return !isAttentive(dependency) && recoveredAtMs(dependency) > observedAtMs;
}

/** Returns when the last problem of a check ended; 0: it has one, or there was none. */
export function recoveredAtMs(state: ConditionState): number {
  const { unknown, warning, critical } = state.leftAtMs;
  return hasProblem(state) ? 0 : Math.max(unknown ?? 0, warning ?? 0, critical ?? 0);
}

/**
 * Returns whether a dependency has to run at once to decide whether it suppresses: it has no result since the problem
 * began. A dependency with an unconfirmed failure does not run: more runs would confirm it too early.
 */
export function dependencyIsUnknown(dependency: ConditionState, problemBeganAtMs: number): boolean {
  const { observed, observedAtMs } = dependency;
  if (!hasProblem(dependency) && observed !== null && observed !== "ok") return false;
  return observedAtMs === null || observedAtMs < problemBeganAtMs;
}

/**
 * Returns the time until the next reminder, reduced by a tenth: results have their own schedule, and a result slightly
 * before the reminder would delay it by an interval. Of several intervals, the last one repeats.
 */
export function reminderAfterMs(
  policy: number | readonly number[],
  { reminders }: Pick<ConditionState, "reminders">,
): number {
  const intervals = [policy].flat();
  return 0.9 * (intervals[Math.min(reminders, intervals.length - 1)] ?? Infinity);
}

/** Suppressions that let recoveries pass: without its recovery, an incident stays open at the receiver. */
const PASSED_BY_RECOVERY: readonly Suppression[] = ["silence", "until_ok", "maintenance", "dependency"];

export function letsRecoveriesPass(suppression: Suppression): boolean {
  return PASSED_BY_RECOVERY.includes(suppression);
}

/**
 * The maximum of a count: far above any useful threshold (68 years at one check result a second), and safe in every
 * number type that a store may use. Counters never stop at a threshold, so a threshold that a reload changes, up or
 * down, applies to the previous check results.
 */
export const COUNT_MAX = 2 ** 31 - 1;

export interface Counters {
  /** Consecutive check results of at least that severity. */
  readonly atLeast: ConditionCounts;
  /** Consecutive check results of at most that severity. */
  readonly atMost: ConditionCounts;
}

export interface ConfirmedChange {
  readonly from: ShownCondition;
  /** The confirmed condition from now on; never the same. */
  readonly to: Condition;
}

export const NO_RESULTS: Counters = {
  atLeast: { ok: 0, unknown: 0, warning: 0, critical: 0 },
  atMost: { ok: 0, unknown: 0, warning: 0, critical: 0 },
};

/** Adds so many results that are the same. */
export function count(counters: Counters, observed: Condition, results = 1): Counters {
  const level = severity(observed);
  const next = (seen: number): number => Math.min(seen + results, COUNT_MAX);
  return {
    atLeast: eachCondition((one) => severity(one) <= level ? next(counters.atLeast[one]) : 0),
    atMost: eachCondition((one) => severity(one) >= level ? next(counters.atMost[one]) : 0),
  };
}

/**
 * Returns the number of consecutive check results, up to the last one, of at least that severity. Every condition is
 * at least `ok`, so for `ok` it counts results that were `ok`.
 */
export function occurrences(counters: Counters, condition: Condition): number {
  return condition === "ok" ? counters.atMost.ok : counters.atLeast[condition];
}

/**
 * Confirms the first `ok` of all at once. Otherwise moves the confirmed condition: up to the lowest severity of the
 * last `threshold` results if that is higher, down to the highest of the last `recoveryThreshold` if that is lower. The
 * last result is among both, so never both apply. `null` if it stays, as it does while there are fewer results than the
 * threshold. Without any, it moves up as from `ok`.
 *
 * If `within` is more than `threshold`, it moves up to the highest severity that `threshold` of so many results
 * reach, the last one included. `recent`: the results since it was last lowered, see {@linkcode addResult}.
 */
export function confirm(
  counters: Counters,
  confirmed: Condition | null,
  { threshold, recoveryThreshold, within = threshold }: Pick<
    CheckSettings,
    "threshold" | "recoveryThreshold" | "within"
  >,
  recent = "",
): ConfirmedChange | null {
  if (confirmed === null && counters.atMost.ok > 0) return { from: "pending", to: "ok" };
  const from = severity(confirmed ?? "ok");
  const window = within > threshold ? recent.slice(-within) : null;
  const raised = CONDITIONS.findLast((to) =>
    severity(to) > from && counters.atLeast[to] > 0 &&
    (window === null ? counters.atLeast[to] : countAtLeast(window, to)) >= threshold
  );
  if (raised !== undefined) return { from: confirmed ?? "pending", to: raised };
  if (confirmed === null) return null;
  const lowered = CONDITIONS.find((to) => severity(to) < from && counters.atMost[to] >= recoveryThreshold);
  return lowered === undefined ? null : { from: confirmed, to: lowered };
}

// The newest results of a check as a text: one letter each, the oldest first.

const LETTERS: Readonly<Record<Condition, string>> = { ok: "o", unknown: "u", warning: "w", critical: "c" };

export function addResult(recent: string, condition: Condition, max: number): string {
  return (recent + LETTERS[condition]).slice(-max);
}

function countAtLeast(recent: string, condition: Condition): number {
  const letters = CONDITIONS.filter((one) => severity(one) >= severity(condition)).map((one) => LETTERS[one]);
  return [...recent].filter((letter) => letters.includes(letter)).length;
}

// Whether a check changes too often: the rule of Nagios with its default thresholds
// (https://assets.nagios.com/downloads/nagioscore/docs/nagioscore/4/en/flapping.html).

export const FLAPPING_RESULTS = 21;
/** From this percentage on, a check flaps. */
const START_PERCENT = 20;
/** Below this percentage, it no longer does. */
const STOP_PERCENT = 5;
/** The weights of the oldest and the newest change; between them, they grow evenly. */
const WEIGHTS = [0.8, 1.2] as const;

/** Returns how many of the possible changes happened, in percent: newer ones count more. 0 with fewer results. */
export function changePercent(recent: string): number {
  const results = recent.slice(-FLAPPING_RESULTS);
  if (results.length < FLAPPING_RESULTS) return 0;
  const possible = FLAPPING_RESULTS - 1;
  const [oldest, newest] = WEIGHTS;
  let sum = 0;
  for (let index = 1; index <= possible; index++) {
    if (results[index] === results[index - 1]) continue;
    sum += oldest + (newest - oldest) * (index - 1) / (possible - 1);
  }
  return 100 * sum / possible;
}

/** Returns whether a check flaps now. Between the thresholds, it is as it was. */
export function flaps(recent: string, didFlap: boolean): boolean {
  const percent = changePercent(recent);
  return didFlap ? percent >= STOP_PERCENT : percent >= START_PERCENT;
}
