/**
 * The condition machine: from observations to a settled condition, and from that to reports. Pure; the caller
 * keeps the state, says what time it is and what holds reports back, and commits state and report together.
 *
 * Two rules, one after the other. The settled condition follows the observations alone, whatever is held. A
 * report is due while the settled condition differs from the one last reported, so what a hold kept back is told
 * when it ends if it still matters, and forgotten if it does not.
 */
import type { CheckSettings } from "../domain/check.ts";
import type { Condition } from "../domain/condition.ts";
import type { ConditionState, Hold, ReportEvent } from "../domain/condition_state.ts";
import { count, NO_OBSERVATIONS, occurrences, settle, type SettledChange } from "./settle.ts";

/** What the machine must know of a check's settings. They may differ from one call to the next (a reload). */
export type ConditionPolicy = Pick<CheckSettings, "threshold" | "recoveryThreshold" | "annoy">;

/** What is the case when a report is decided. */
export interface Circumstances {
  /**
   * What holds reports of this check now. A dependency lets recoveries through and the others do not, so
   * `"dependency"` is only for when nothing else holds.
   */
  readonly held: Hold | null;
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
  /**
   * What each channel of the check was notified of last, or is about to be. A report is due while one of them differs
   * from the settled condition: what was on its way to it was dropped, or it is new.
   *
   * @default what was reported last
   */
  readonly known?: readonly Condition[];
}

/** One observation as the machine sees it, made at `nowMs`. */
export interface Observed extends Circumstances {
  /** What was observed. */
  readonly condition: Condition;
}

/** Whether there is something to tell, and why. */
export type Verdict =
  | {
    readonly kind: "report";
    readonly event: ReportEvent;
    /** The condition to tell: the settled one. */
    readonly condition: Condition;
    /** The condition told before. */
    readonly previous: Condition;
    /** The first observation that was not `ok` of the problem told of; in a recovery, of the one that is over. */
    readonly problemBeganAtMs: number;
    readonly reason: string;
  }
  | {
    readonly kind: "held";
    /** What would have been told. A reminder is dropped; anything else stays due. */
    readonly event: ReportEvent;
    readonly hold: Hold;
    readonly reason: string;
  }
  | { readonly kind: "quiet"; readonly reason: string };

/** What one observation, or a review, leads to. */
export interface Transition {
  /** The state from now on. */
  readonly state: ConditionState;
  /** How many observations in a row were at least as bad as the last one; for `ok`: were `ok`. */
  readonly occurrences: number;
  /** How the settled condition moved; `null` when it stayed. */
  readonly change: SettledChange | null;
  /** What to tell. */
  readonly verdict: Verdict;
}

/**
 * Takes one observation into account.
 *
 * The first `ok` of a new check reports nothing, since the settled condition is `ok` from the start.
 */
export function transition(policy: ConditionPolicy, state: ConditionState, observed: Observed): Transition {
  const { condition, nowMs } = observed;
  const counters = count(state, condition);
  const change = settle(counters, state.settled, policy);
  const settled = change === null ? state.settled : change.to;
  const watched = condition !== "ok" || settled !== "ok";
  const next: ConditionState = {
    ...state,
    ...counters,
    settled,
    reported: leastInformed(settled, state.reported, observed.known),
    settledSinceMs: change === null ? state.settledSinceMs ?? nowMs : nowMs,
    observed: condition,
    observedAtMs: nowMs,
    problemBeganAtMs: watched ? state.problemBeganAtMs ?? nowMs : null,
  };
  const event = dueEvent(next);
  const decision = event === null
    ? decideReminder(policy, next, nowMs)
    : { event, reason: change === null ? "it was held back until now" : change.reason };
  return { ...conclude(next, decision, observed), change };
}

/**
 * Decides again without an observation, for when a hold may have ended: a silence that runs out is followed by
 * what it kept back, not by an hour's wait for the next run. Never makes a reminder. Not for the start of a run,
 * which is never a report.
 */
export function review(before: ConditionState, circumstances: Circumstances): Transition {
  const reported = leastInformed(before.settled, before.reported, circumstances.known);
  const state = { ...before, reported };
  const event = dueEvent(state);
  const decision: Decision = event === null
    ? { event, reason: "nothing was held back" }
    : { event, reason: "it was held back until now" };
  return { ...conclude(state, decision, circumstances), change: null };
}

/** The state of a check that was never observed. */
export function initialState(): ConditionState {
  return {
    settled: "ok",
    settledSinceMs: null,
    ...NO_OBSERVATIONS,
    observed: null,
    observedAtMs: null,
    problemBeganAtMs: null,
    reported: "ok",
    reportedAtMs: null,
    reportedProblemBeganAtMs: null,
  };
}

/** Whether the check is being watched: it was last observed not `ok`, or a problem is settled. */
export function isAttentive(state: ConditionState): boolean {
  return state.settled !== "ok" || (state.observed !== null && state.observed !== "ok");
}

/**
 * The report that is due when nothing holds it; `null` when the settled condition is the one last reported, and that
 * which every channel knows.
 */
export function dueEvent(
  state: Pick<ConditionState, "settled" | "reported">,
  known: readonly Condition[] = [],
): Exclude<ReportEvent, "reminder"> | null {
  const reported = leastInformed(state.settled, state.reported, known);
  if (state.settled === reported) return null;
  if (state.settled === "ok") return "recovery";
  return reported === "ok" ? "problem" : "change";
}

/**
 * Whether a dependency holds the problem of a check that depends on it: while it is itself watched, and until it
 * has been observed since the problem began, for a router that just died is often seen last.
 *
 * `problemBeganAtMs` is that of the dependent check, or the present observation's time where that is `null`.
 */
export function dependencyHolds(dependency: ConditionState, problemBeganAtMs: number): boolean {
  return isAttentive(dependency) || dependency.observedAtMs === null ||
    dependency.observedAtMs < problemBeganAtMs;
}

/** What was reported as far as every channel knows: one that knows something else than is settled, if there is one. */
function leastInformed(
  settled: Condition,
  reported: Condition,
  known: readonly Condition[] = [],
): Condition {
  return known.length === 0 ? reported : known.find((condition) => condition !== settled) ?? settled;
}

/**
 * Whether a dependency is to be run at once, so that it is known whether it suppresses: it was not observed since the
 * problem began. Not if it was last observed not `ok` and that is not settled: more runs would settle it too early.
 */
export function dependencyIsUnknown(dependency: ConditionState, problemBeganAtMs: number): boolean {
  const { settled, observed, observedAtMs } = dependency;
  if (settled === "ok" && observed !== null && observed !== "ok") return false;
  return observedAtMs === null || observedAtMs < problemBeganAtMs;
}

interface Decision {
  readonly event: ReportEvent | null;
  readonly reason: string;
}

function decideReminder(policy: ConditionPolicy, state: ConditionState, nowMs: number): Decision {
  if (state.settled === "ok") return { event: null, reason: "no problem is settled" };
  if (state.observed === "ok") return { event: null, reason: "the observation was ok" };
  if (policy.annoy === false) return { event: null, reason: "the problem was reported" };
  if (policy.annoy === true) return { event: "reminder", reason: "the problem goes on" };
  return isReminderDue(policy.annoy, state.reportedAtMs, nowMs)
    ? { event: "reminder", reason: "the problem goes on and the last report is long enough ago" }
    : { event: null, reason: "the last report is not long enough ago" };
}

/**
 * A tenth early will do, since observations come on their own schedule and a hair too early would otherwise mean
 * one interval too late. The distance counts either way, so that a wall clock set back delays a reminder by one
 * interval at most.
 */
function isReminderDue(intervalMs: number, reportedAtMs: number | null, nowMs: number): boolean {
  return reportedAtMs === null || Math.abs(nowMs - reportedAtMs) >= intervalMs * 0.9;
}

function conclude(
  state: ConditionState,
  decision: Decision,
  { held, nowMs }: Circumstances,
): Omit<Transition, "change"> {
  const { event, reason } = decision;
  const seen = state.observed === null ? 0 : occurrences(state, state.observed);
  if (event === null) return { state, occurrences: seen, verdict: { kind: "quiet", reason } };
  if (held !== null && !(held === "dependency" && event === "recovery")) {
    return { state, occurrences: seen, verdict: { kind: "held", event, hold: held, reason } };
  }
  const began = event === "recovery" ? state.reportedProblemBeganAtMs : state.problemBeganAtMs;
  return {
    state: {
      ...state,
      reported: state.settled,
      reportedAtMs: nowMs,
      reportedProblemBeganAtMs: began,
    },
    occurrences: seen,
    verdict: {
      kind: "report",
      event,
      condition: state.settled,
      previous: state.reported,
      problemBeganAtMs: began ?? nowMs,
      reason,
    },
  };
}
