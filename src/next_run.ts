/**
 * When a check runs next, whatever keeps the beat: the continuous loop, or cron that calls `check --once --due`.
 * Both go by these rules, so both come to the same runs, and the state that one leaves is good for the other.
 */
import { isAttentive } from "./condition/transition.ts";
import type { Check } from "./domain/check.ts";
import type { ConditionState, Hold } from "./domain/condition_state.ts";
import type { Result } from "./domain/result.ts";
import type { CheckRecord } from "./domain/store.ts";
import type { Entry, EntryOptions, Ledger } from "./ledger.ts";
import { isDue, isTooFarAhead, phaseOf, planFirst, planNext } from "./schedule/plan.ts";

/** A planned run. */
export interface NextRun {
  /** Later than the time it was planned at. */
  readonly atMs: number;
  /** The interval that applies until then. */
  readonly intervalMs: number;
  /** Runs that were left out before it; 0 or more. */
  readonly missed: number;
}

/** The interval that applies to a check: the attentive one while it is being watched. */
export function intervalOf(check: Pick<Check, "schedule">, state: ConditionState): number {
  const { regularIntervalMs, attentiveIntervalMs } = check.schedule;
  return isAttentive(state) ? attentiveIntervalMs : regularIntervalMs;
}

/** What {@linkcode nextRunAfter} goes by. */
export interface PlannedRunOptions {
  /** The condition state after the run. */
  readonly state: ConditionState;
  /** When the run was planned. */
  readonly plannedMs: number;
  /** When it ended. */
  readonly nowMs: number;
}

/** The run after one that was planned. */
export function nextRunAfter(check: Check, { state, plannedMs, nowMs }: PlannedRunOptions): NextRun {
  const { regularIntervalMs } = check.schedule;
  const intervalMs = intervalOf(check, state);
  const plan = planNext({
    plannedMs,
    nowMs,
    regularIntervalMs,
    attentiveIntervalMs: intervalMs === regularIntervalMs ? null : intervalMs,
    phase: phaseOf(check.name),
  });
  return { ...plan, intervalMs };
}

/** Whether a check is to run, now that somebody asks. One that nobody has planned is. */
export function isCheckDue(check: Check, record: CheckRecord, nowMs: number): boolean {
  if (record.nextRunAtMs === null) return true;
  const intervalMs = intervalOf(check, record.condition);
  return isDue(record.nextRunAtMs, nowMs, intervalMs) || isTooFarAhead(record.nextRunAtMs, nowMs, intervalMs);
}

/** What is the case when the result of a run that somebody asked for is entered. */
export interface AskedEntryOptions extends Pick<EntryOptions, "rowsOf"> {
  /** When the run ended, wall time. */
  readonly nowMs: number;
  /** What holds the check's reports back; `null`: nothing does. */
  readonly held: Hold | null;
}

/** Enters the result of a run that somebody asked for, and plans the next one. */
export function enterAsked(
  ledger: Ledger,
  result: Result,
  { nowMs, held, rowsOf }: AskedEntryOptions,
): Entry {
  const { check, startedAtMs } = result;
  const before = ledger.recordOf(check.name, nowMs);
  return ledger.enter(result, {
    nowMs,
    held,
    rowsOf,
    plan: ({ condition: state }) => nextRunAfterAsked(check, { before, state, startedAtMs, nowMs }),
  });
}

interface AskedRunOptions {
  /** The record before the run. */
  readonly before: CheckRecord;
  /** The condition state after the run. */
  readonly state: ConditionState;
  /** When it began. */
  readonly startedAtMs: number;
  /** When it ended. */
  readonly nowMs: number;
}

/**
 * The run after one that somebody asked for. If the check was due, that was the planned run. If it was not, the
 * plan stands, unless the run has shown something that is to be looked at sooner.
 */
function nextRunAfterAsked(check: Check, options: AskedRunOptions): NextRun {
  const { before, state, startedAtMs, nowMs } = options;
  const keptMs = before.nextRunAtMs;
  if (keptMs === null) {
    const { regularIntervalMs: intervalMs } = check.schedule;
    const plannedMs = planFirst({ keptMs, nowMs: startedAtMs, intervalMs, phase: phaseOf(check.name) });
    return nextRunAfter(check, { state, plannedMs, nowMs });
  }
  if (isDue(keptMs, startedAtMs, intervalOf(check, before.condition))) {
    return nextRunAfter(check, { state, plannedMs: keptMs, nowMs });
  }
  const afresh = nextRunAfter(check, { state, plannedMs: startedAtMs, nowMs });
  return { ...afresh, atMs: keptMs > nowMs ? Math.min(keptMs, afresh.atMs) : afresh.atMs, missed: 0 };
}
