/** Derives from a check's condition the due notification, the suppression of dependents, and the interval. */
import {
  type Condition,
  type ConditionState,
  type ConditionTimes,
  type NotificationEvent,
  type Suppression,
} from "../domain/condition.ts";
import { NO_RESULTS } from "./confirm.ts";

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
