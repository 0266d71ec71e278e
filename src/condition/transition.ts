/**
 * The condition machine: from check results to a confirmed condition, and from that to notifications. Pure; the
 * caller keeps the state, provides the time and the suppressions, and commits state and notification together.
 *
 * Two rules, one after the other. The confirmed condition follows the check results alone, whatever is suppressed. A
 * notification is due while there is a confirmed condition that differs from the one last notified. A suppressed notification is
 * sent when the suppression ends if it still matters, and dropped otherwise.
 */
import type { Awaited, CheckSettings } from "../domain/check.ts";
import {
  type Condition,
  type ConditionState,
  type NotificationEvent,
  severity,
  type ShownCondition,
  type Suppression,
} from "../domain/condition.ts";
import {
  addResult,
  conditionBefore,
  confirm,
  confirmedAs,
  type ConfirmedChange,
  count,
  COUNT_MAX,
  dueEvent,
  FLAPPING_RESULTS,
  flaps,
  hasProblem,
  letsRecoveriesPass,
  NO_RESULTS,
  occurrences,
  reminderAfterMs,
} from "./condition_state.ts";
import { actionPhase } from "./action.ts";

/** The settings of a check that the machine uses. They may differ from one call to the next (a reload). */
export type ConditionPolicy = Pick<
  CheckSettings,
  "threshold" | "recoveryThreshold" | "within" | "flapping" | "reminders" | "action"
>;

export interface Circumstances {
  /**
   * The suppression of notifications of this check now. Silences, maintenance windows and dependencies let recoveries
   * through.
   */
  readonly suppressedBy: Suppression | null;
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
  /**
   * Returns the last notification of each channel of the check, given the state after the result. A notification is
   * due while one of them differs from the confirmed condition: the notification was dropped, or the channel is new.
   *
   * @default the last notification
   */
  known?(state: ConditionState): readonly Condition[];
  /** Whether an administrator has acknowledged the problem, so that there are no reminders. @default false */
  readonly isAcknowledged?: boolean;
  /** Whether the action of the check may run, for which a problem waits. @default false */
  readonly acts?: boolean;
}

/** One check result, received at `nowMs`. */
export interface ObservedResult extends Circumstances {
  readonly condition: Condition;
  /** What is to come before a result counts; this one confirms no condition, but may end a problem. @default nothing */
  readonly awaits?: Awaited | undefined;
  /** When the problem that it found began; a later time is that of the result. @default the time of the result */
  readonly beganAtMs?: number | undefined;
  /** When a check that this one combines last recovered. @default never */
  readonly recoveredAtMs?: number | undefined;
  /** Whether the condition was no longer known before it, as `isAfterGap` of `check_status.ts` decides. @default false */
  readonly isAfterGap?: boolean | undefined;
  /** Whether nothing ran meanwhile, or the check was edited: after a gap, no earlier result counts. @default false */
  readonly isInterrupted?: boolean | undefined;
}

export type Verdict =
  | {
    readonly kind: "notify";
    readonly event: NotificationEvent;
    readonly condition: Condition;
    /** The condition last notified; `ok` if none was, or `pending` if none was confirmed before the problem. */
    readonly previous: ShownCondition;
    /** The first result that was not `ok` of the notified problem; in a recovery, of the problem that ended. */
    readonly problemBeganAtMs: number;
  }
  | {
    readonly kind: "suppressed";
    /** The suppressed notification. A reminder is dropped; any other stays due. */
    readonly event: NotificationEvent;
    readonly suppressedBy: Suppression;
  }
  | { readonly kind: "quiet" };

export interface Transition {
  readonly state: ConditionState;
  /** Consecutive check results of at least the severity of the last one; for `ok`: that were `ok`. */
  readonly occurrences: number;
  /** How the confirmed condition moved; `null` when it stayed. */
  readonly change: ConfirmedChange | null;
  readonly verdict: Verdict;
}

/**
 * Adds one check result.
 *
 * The first `ok` of a new check causes no notification, since none counts like a notified `ok`.
 */
export function transition(
  policy: ConditionPolicy,
  before: ConditionState,
  observed: ObservedResult,
): Transition {
  const { awaits, suppressedBy, recoveredAtMs = 0 } = observed;
  if (awaits === undefined) return counted(policy, before, observed);
  // If only a job is awaited, nothing that ran is failing: that ends a problem if another check recovered. Its recovery
  // could not come later. A job that never ran, or that replaced one that failed, is not known to be ok.
  const isUnsent = suppressedBy === "overtaken" || suppressedBy === "no_notify" && before.notified !== "ok";
  const hasRecovered = recoveredAtMs > (before.problemBeganAtMs ?? Infinity);
  const mayRecover = awaits === "job" && hasProblem(before) && hasRecovered && !isUnsent;
  if (!mayRecover) return review(awaiting(afterGap(before, observed), observed, awaits), observed, policy);
  const result = counted(policy, before, { ...observed, condition: "ok" });
  return { ...result, state: awaiting(result.state, observed, awaits) };
}

function counted(policy: ConditionPolicy, before: ConditionState, observed: ObservedResult): Transition {
  const { condition, nowMs, beganAtMs = nowMs } = observed;
  const state = afterGap(before, observed);
  const counters = count(state, condition);
  const recent = addResult(state.recent, condition, Math.max(policy.within ?? 0, FLAPPING_RESULTS));
  const sinceLowered = Math.min(state.sinceLowered + 1, COUNT_MAX);
  const change = confirm(counters, state.confirmed, policy, recent.slice(-sinceLowered));
  const isLowered = change !== null && change.from !== "pending" &&
    severity(change.to) < severity(change.from);
  const isFlapping = flaps(recent, state.flappingSinceMs !== null);
  const moved = change === null ? state : confirmedAs(state, change.to, nowMs);
  const isFailing = condition !== "ok" || moved.confirmed !== "ok";
  const seen: ConditionState = {
    ...moved,
    ...counters,
    recent,
    sinceLowered: isLowered ? 0 : sinceLowered,
    flappingSinceMs: isFlapping ? state.flappingSinceMs ?? nowMs : null,
    observed: condition,
    observedAtMs: nowMs,
    problemBeganAtMs: isFailing ? state.problemBeganAtMs ?? Math.min(beganAtMs, nowMs) : null,
  };
  const next = withNotified(seen, observed);
  const event = dueEvent(next) ?? (isReminderDue(policy, next, observed) ? "reminder" : null);
  return { ...conclude(policy, next, observed, event), change };
}

/**
 * Returns the state after a result that awaits others: an `ok` is no longer known. While only the first run of a job is
 * awaited, the check is not failing, and earlier failures no longer count.
 */
function awaiting(
  state: ConditionState,
  { condition, nowMs }: ObservedResult,
  awaits: Awaited,
): ConditionState {
  const known = withoutOk(state);
  if (awaits === "checks") return { ...known, observed: condition, observedAtMs: nowMs };
  return { ...known, ...hasProblem(known) ? {} : nothingCounted(known), observed: null, observedAtMs: nowMs };
}

/**
 * Returns the state as far as it counts for a result: after a gap no earlier `ok`, and after a stop no earlier results.
 * A problem goes on, and is known to be confirmed since that result.
 *
 * Runs that are late for other reasons do count: single runs may always be further apart than the interval, and in an
 * outage checks wait for others that hang.
 */
function afterGap(
  before: ConditionState,
  { isAfterGap = false, isInterrupted = false, nowMs }: ObservedResult,
): ConditionState {
  if (!isAfterGap) return before;
  const state = hasProblem(before) ? { ...before, confirmedSinceMs: nowMs } : withoutOk(before);
  return isInterrupted ? { ...state, ...nothingCounted(state) } : state;
}

function nothingCounted(state: ConditionState): Partial<ConditionState> {
  return {
    ...NO_RESULTS,
    sinceLowered: 0,
    problemBeganAtMs: hasProblem(state) ? state.problemBeganAtMs : null,
  };
}

/** Returns a state that is as before the first `ok`, if that is confirmed. A problem stays. */
function withoutOk(state: ConditionState): ConditionState {
  if (state.confirmed !== "ok") return state;
  return { ...state, confirmed: null, confirmedSinceMs: null, leftAtMs: { ...state.leftAtMs, ok: null } };
}

type ReviewPolicy = Pick<ConditionPolicy, "flapping" | "action">;

/**
 * Decides again without a check result, because a suppression may have ended: suppressed notifications are sent when
 * a silence ends, not at the next run an hour later. Never causes a reminder. Not for the start of a run, which is
 * never a notification.
 */
export function review(
  before: ConditionState,
  circumstances: Circumstances,
  policy: ReviewPolicy = { flapping: "once" },
): Transition {
  const state = withNotified(before, circumstances);
  return { ...conclude(policy, state, circumstances, dueEvent(state)), change: null };
}

/** Returns a state that was notified as far as every channel was: of another condition, if one channel was. */
function withNotified(state: ConditionState, { known }: Circumstances): ConditionState {
  const conditions = known?.(state) ?? [];
  if (conditions.length === 0 || state.confirmed === null) return state;
  const notified = conditions.find((one) => one !== state.confirmed) ?? state.confirmed;
  return notified === state.notified ? state : { ...state, notified };
}

function isReminderDue(
  { reminders }: ConditionPolicy,
  state: ConditionState,
  { nowMs, isAcknowledged = false }: Circumstances,
): boolean {
  if (!hasProblem(state) || state.observed === "ok" || isAcknowledged) return false;
  if (typeof reminders === "boolean") return reminders;
  // The absolute distance counts, so that a wall clock set back delays a reminder by one interval at most.
  return Math.abs(nowMs - (state.notifiedAtMs ?? -Infinity)) >= reminderAfterMs(reminders, state);
}

/** Returns whether each channel was already sent a notification, of nothing better, in place of all changes while it flaps. */
function hasNotifiedFlapping(
  { flapping }: Pick<ConditionPolicy, "flapping">,
  state: ConditionState,
  { known }: Pick<Circumstances, "known">,
): boolean {
  const { flappingSinceMs, notifiedAtMs, notified, confirmed } = state;
  if (flapping === "all" || flappingSinceMs === null || (notifiedAtMs ?? -Infinity) < flappingSinceMs) {
    return false;
  }
  return [notified, ...known?.(state) ?? []].every((one) => severity(one) >= severity(confirmed ?? "ok"));
}

/**
 * Returns whether a problem that was suppressed until now may be over, because the last result is ok: most checks recover
 * with the dependency that suppressed them. The next results decide. A change to a lower severity is sent.
 */
function isEnding(
  state: ConditionState,
  event: NotificationEvent,
  { known }: Pick<Circumstances, "known">,
): boolean {
  const { confirmed, notified, observed } = state;
  return observed === "ok" && (event === "problem" || event === "change") &&
    [notified, ...known?.(state) ?? []].every((one) => severity(one) <= severity(confirmed ?? "ok"));
}

function conclude(
  policy: ReviewPolicy,
  state: ConditionState,
  circumstances: Circumstances,
  event: NotificationEvent | null,
): Omit<Transition, "change"> {
  const { nowMs } = circumstances;
  const seen = state.observed === null ? 0 : occurrences(state, state.observed);
  if (event === null || state.confirmed === null) {
    const isDecided = circumstances.suppressedBy === null && hasProblem(state);
    const decided = isDecided ? { ...state, notifiedSinceMs: state.notifiedSinceMs ?? nowMs } : state;
    return { state: decided, occurrences: seen, verdict: { kind: "quiet" } };
  }
  if (isEnding(state, event, circumstances)) return { state, occurrences: seen, verdict: { kind: "quiet" } };
  const passes = event === "recovery" && circumstances.suppressedBy !== null &&
    letsRecoveriesPass(circumstances.suppressedBy);
  const waits = (event === "problem" || event === "change") && circumstances.acts === true &&
    actionPhase(policy, state) !== "none";
  const suppressedBy = (passes ? null : circumstances.suppressedBy) ?? (waits ? "action" : null) ??
    (hasNotifiedFlapping(policy, state, circumstances) ? "flapping" : null);
  if (suppressedBy !== null) {
    return { state, occurrences: seen, verdict: { kind: "suppressed", event, suppressedBy } };
  }
  const began = event === "recovery" ? state.notifiedProblemBeganAtMs : state.problemBeganAtMs;
  // An escalation to one channel delays no reminder of the others.
  const isRepeated = event !== "reminder" && state.notifiedSinceMs !== null &&
    circumstances.known?.(state).includes(state.confirmed) === true;
  return {
    state: {
      ...state,
      notified: state.confirmed,
      notifiedAtMs: isRepeated ? state.notifiedAtMs : nowMs,
      notifiedSinceMs: state.notifiedSinceMs ?? nowMs,
      reminders: event === "reminder" ? state.reminders + 1 : isRepeated ? state.reminders : 0,
      notifiedProblemBeganAtMs: began,
    },
    occurrences: seen,
    verdict: {
      kind: "notify",
      event,
      condition: state.confirmed,
      previous: event === "problem" ? conditionBefore(state) : state.notified,
      problemBeganAtMs: began ?? nowMs,
    },
  };
}

/**
 * Returns whether more results that are the last one again would only be counted: so many were the same that nothing is
 * left to confirm, and the check does not flap.
 */
export function isSteady({ within = 0 }: Pick<ConditionPolicy, "within">, state: ConditionState): boolean {
  const { confirmed, observed, recent, flappingSinceMs } = state;
  const results = Math.max(within, FLAPPING_RESULTS);
  return observed !== null && confirmed === observed && flappingSinceMs === null &&
    recent.length >= results && recent === recent.charAt(0).repeat(recent.length);
}

/** Returns the state after so many more results that are the last one again, the last of them at a time. */
export function afterRepeated(state: ConditionState, results: number, observedAtMs: number): ConditionState {
  const { observed } = state;
  if (observed === null) throw new Error("Only a result can come again");
  const sinceLowered = Math.min(state.sinceLowered + results, COUNT_MAX);
  return { ...state, ...count(state, observed, results), sinceLowered, observedAtMs };
}
