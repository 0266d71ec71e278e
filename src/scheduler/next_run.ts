/**
 * When a check runs next, in the continuous loop and under cron (`check --once --due`). Both use these rules, so both
 * plan the same runs, and each can continue the other's state.
 */
import { isAttentive } from "../condition/condition_state.ts";
import type { Check, Result } from "../domain/check.ts";
import type { ConditionState } from "../domain/condition.ts";
import { type CronSchedule, isCron } from "../domain/schedule.ts";
import { intervalOf, isAfterGap, overdueAtMs, type Scheduled } from "../engine/check_status.ts";
import { type CheckRecord, isEdited } from "../domain/store.ts";
import type { Decided } from "../engine/decide.ts";
import type { Engine } from "../engine/engine.ts";
import { hash32 } from "../shared/hash.ts";

function splayOfCheck({ name, splay }: Scheduled): number {
  return splay ?? splayOf(name);
}

interface PlannedRun {
  readonly state: ConditionState;
  readonly plannedMs: number;
  readonly nowMs: number;
}

export function nextRunAfter(check: Scheduled, run: PlannedRun): Plan {
  const { schedule } = check;
  if (isCron(schedule)) return nextCronRun(schedule, run);
  const { state, plannedMs, nowMs } = run;
  const intervalMs = intervalOf(schedule, state);
  return planNext({
    plannedMs,
    nowMs,
    regularIntervalMs: schedule.regularIntervalMs,
    attentiveIntervalMs: isAttentive(state) ? intervalMs : null,
    splay: splayOfCheck(check),
  });
}

/** How many runs are counted as left out at a time, so that a month without electricity costs no second to count. */
const MISSED_MAX = 1_000;

/** An attentive interval does not move cron times: the earlier of the two comes next. */
function nextCronRun(schedule: CronSchedule, { state, plannedMs, nowMs }: PlannedRun): Plan {
  const { times } = schedule;
  const attentiveIntervalMs = intervalOf(schedule, state);
  let missed = 0;
  let lastMs = plannedMs;
  let atMs = times.after(lastMs);
  while (atMs <= nowMs && missed < MISSED_MAX) {
    missed++;
    lastMs = atMs;
    atMs = times.after(lastMs);
  }
  if (atMs <= nowMs) [lastMs, atMs] = [nowMs, times.after(nowMs)];
  if (attentiveIntervalMs === null) return { atMs, missed };
  const { atMs: sooner } = planNext({
    plannedMs,
    nowMs,
    regularIntervalMs: attentiveIntervalMs,
    attentiveIntervalMs,
    splay: 0,
  });
  return { atMs: Math.min(atMs, sooner), missed };
}

export interface FirstRunOptions {
  readonly record: Pick<CheckRecord, "condition" | "nextRunAtMs" | "last">;
  /** The returned time is never before this. */
  readonly nowMs: number;
  /** Whether a check that never ran is to let those go first that are overdue. @default false */
  readonly isBehindOverdue?: boolean;
}

/**
 * The first run after a start, or after the check or its schedule was edited. If its kind or parameters were, it runs at
 * once, or at its cron time.
 */
export function firstRun(
  check: Scheduled,
  { record, nowMs, isBehindOverdue = false }: FirstRunOptions,
): number {
  const { schedule } = check;
  const splay = splayOfCheck(check);
  if (isLeft(record)) return overdueRun(check, { state: record.condition, nowMs });
  if (isCron(schedule)) {
    // Not at once if it never ran: a cron schedule names its times.
    const plannedMs = record.nextRunAtMs ?? nowMs + 1;
    const atMs = plannedCronRun(schedule, { state: record.condition, plannedMs, nowMs });
    return atMs > nowMs ? atMs : overdueRun(check, { state: record.condition, nowMs });
  }
  if (isEdited(check, record)) return overdueRun(check, { state: record.condition, nowMs });
  const intervalMs = intervalOf(schedule, record.condition);
  return planFirst({ keptMs: record.nextRunAtMs, nowMs, intervalMs, splay, isBehindOverdue });
}

/** Returns whether nothing ran a check any more for a while, so that it runs at once. */
export function isLeft({ nextRunAtMs, last }: Pick<CheckRecord, "nextRunAtMs" | "last">): boolean {
  return nextRunAtMs === null && last !== null;
}

/** When a run that is overdue begins, so that not all that are begin at once. */
export function overdueRun(
  check: Scheduled,
  { state, nowMs }: { readonly state: ConditionState; readonly nowMs: number },
): number {
  const intervalMs = intervalOf(check.schedule, state) ?? OVERDUE_CRON_MS;
  return planFirst({ keptMs: nowMs, nowMs, intervalMs, splay: splayOfCheck(check) });
}

/** Overdue cron checks are spread as if they ran every minute, over 3 s. */
const OVERDUE_CRON_MS = 60_000;

/** Returns how many runs are left out when a check that was planned for one time runs at another, later one instead. */
export function missedUntil(check: Scheduled, run: PlannedRun): number {
  const { state, plannedMs, nowMs: atMs } = run;
  if (atMs <= plannedMs) return 0;
  const intervalMs = intervalOf(check.schedule, state);
  return intervalMs === null ? nextRunAfter(check, run).missed : Math.floor((atMs - plannedMs) / intervalMs);
}

/**
 * Returns when a cron check was to run or is to run, from its stored plan: the time at or after the stored one, but
 * none later than its next time, which another expression, or a clock that was set, may have moved earlier.
 */
function plannedCronRun(schedule: CronSchedule, { state, plannedMs: keptMs, nowMs }: PlannedRun): number {
  const { times, attentiveIntervalMs } = schedule;
  const atMs = times.after(Math.min(keptMs - 1, nowMs));
  const isBetween = attentiveIntervalMs !== null && isAttentive(state) &&
    !isTooFarAhead(keptMs, nowMs, attentiveIntervalMs);
  return isBetween ? Math.min(keptMs, atMs) : atMs;
}

/**
 * Returns whether a check is due now. One without a plan is, and one that did not run since it was edited. One with a
 * cron schedule only is if its time was within the last minute, since cron calls once a minute.
 */
export function isCheckDue(
  check: Scheduled,
  record: Pick<CheckRecord, "condition" | "nextRunAtMs" | "last">,
  nowMs: number,
): boolean {
  const { schedule } = check;
  const state = record.condition;
  if (isLeft(record)) return true;
  if (isCron(schedule)) {
    const plannedMs = record.nextRunAtMs ?? nowMs - CALLED_EVERY_MS + 1;
    return isCronDue(schedule, plannedCronRun(schedule, { state, plannedMs, nowMs }), nowMs);
  }
  if (record.nextRunAtMs === null || isEdited(check, record)) return true;
  const intervalMs = intervalOf(schedule, state);
  return isDue(record.nextRunAtMs, nowMs, intervalMs) || isTooFarAhead(record.nextRunAtMs, nowMs, intervalMs);
}

const CALLED_EVERY_MS = 60_000;

/** A time of the calendar may be as little ahead as a planned run, by the time from it to the next one. */
function isCronDue({ times }: CronSchedule, atMs: number, nowMs: number): boolean {
  return atMs <= nowMs || isDue(atMs, nowMs, times.after(atMs) - atMs);
}

/** Adds when a check is overdue that runs next at a time. */
export function withOverdue<Next extends Pick<Plan, "atMs">>(
  check: Check,
  state: ConditionState,
  next: Next,
): Next & { readonly overdueAtMs: number } {
  return { ...next, overdueAtMs: overdueAtMs(check, { condition: state, nextRunAtMs: next.atMs }) };
}

export function recordRequested(
  before: CheckRecord,
  result: Result,
  { engine, nowMs }: { readonly engine: Pick<Engine, "record">; readonly nowMs: number },
): Decided {
  const { check, startedAtMs } = result;
  // Of a check or locations that are new: the calls of the other locations come within a minute.
  const isEarly = result.isSilent === true && (before.last === null || isEdited(check, before));
  return engine.record({
    result: isEarly ? { ...result, awaits: "checks" } : result,
    lateMs: lagOf(before, result),
    isAfterGap: isAfterGap(check, before, nowMs),
    // While it is pending its failures do count: calls with configs that differ would never confirm a problem.
    isInterrupted: isEdited(check, before) && before.condition.confirmed !== null,
    plan: (state) => {
      const run = { state, plannedMs: startedAtMs, nowMs };
      return withOverdue(check, state, nextRunAfterRequested(check, before, run));
    },
  }, nowMs);
}

/** Returns how long after its planned time a run began; one that came before that was not the planned one. */
function lagOf({ nextRunAtMs }: CheckRecord, { startedAtMs }: Result): number | null {
  return nextRunAtMs === null || startedAtMs < nextRunAtMs ? null : startedAtMs - nextRunAtMs;
}

/**
 * The run after a requested one. If the check was due, that was the planned run. If it was not, the plan stays, unless
 * the result requires an earlier run.
 */
function nextRunAfterRequested(check: Check, before: CheckRecord, run: PlannedRun): Plan {
  const { plannedMs: startedAtMs, nowMs } = run;
  const { schedule } = check;
  const keptMs = before.nextRunAtMs;
  if (isCron(schedule)) {
    const plannedMs = plannedCronRun(schedule, {
      state: before.condition,
      plannedMs: keptMs ?? startedAtMs - CALLED_EVERY_MS + 1,
      nowMs: startedAtMs,
    });
    const wasDue = isCronDue(schedule, plannedMs, startedAtMs);
    return nextRunAfter(check, { ...run, plannedMs: wasDue ? plannedMs : startedAtMs });
  }
  if (keptMs === null) {
    const plannedMs = firstRun(check, { record: before, nowMs: startedAtMs });
    return nextRunAfter(check, { ...run, plannedMs });
  }
  if (isDue(keptMs, startedAtMs, intervalOf(schedule, before.condition))) {
    return nextRunAfter(check, { ...run, plannedMs: keptMs });
  }
  const afresh = nextRunAfter(check, run);
  return { ...afresh, atMs: keptMs > nowMs ? Math.min(keptMs, afresh.atMs) : afresh.atMs, missed: 0 };
}

// The times of runs. Pure: all times are in milliseconds of any clock of the caller.
//
// The regular runs of a check are at a fixed offset in its interval that is derived from its name (splay). So checks
// with one interval are spread, a few together, and a restart, a reload or another way of driving them changes
// nothing.

/**
 * Phases are so far apart, so that checks of the same moment are begun together: to wake up for each alone costs as
 * much as a fifth of a request over loopback.
 */
const SPLAY_STEP_MS = 20;

/** A planned time that is so little ahead counts as come: a tenth of the interval, 30 s at most. */
const TOLERANCE_SHARE = 0.1;
const TOLERANCE_MS_MAX = 30_000;

/** A check that never ran starts within a tenth of its interval, 10 s at most. */
const FIRST_SHARE = 0.1;
const FIRST_MS_MAX = 10_000;

/** Overdue runs at the start run within half of that, at most 3 s. */
const OVERDUE_SHARE = 0.05;
const OVERDUE_MS_MAX = 3_000;

/** A regular plan is one and a half intervals ahead at most, counted from a run that may have come early itself. */
const AHEAD_INTERVALS_MAX = 2;

/** Where in its interval a check runs: 0 or more, below 1. */
export function splayOf(name: string): number {
  return hash32(name) / 2 ** 32;
}

export function nextAtOffset(afterMs: number, intervalMs: number, splay: number): number {
  const offset = Math.floor(splay * intervalMs / SPLAY_STEP_MS) * SPLAY_STEP_MS;
  return (Math.floor((afterMs - offset) / intervalMs) + 1) * intervalMs + offset;
}

/** When a run is planned, and how many runs were left out before it. */
export interface Plan {
  /** Always later than the `nowMs` it was planned at. */
  readonly atMs: number;
  /** Runs whose time has passed and that are skipped; 0 or more. */
  readonly missed: number;
}

interface PlanOptions {
  /** When the last run was planned. */
  readonly plannedMs: number;
  /** Now: runs planned before it are skipped, never caught up with. */
  readonly nowMs: number;
  readonly regularIntervalMs: number;
  /** The interval that applies while the check is failing; `null` while it is not. */
  readonly attentiveIntervalMs: number | null;
  /** The offset of {@linkcode splayOf} for the check's name. */
  readonly splay: number;
}

/**
 * Plans the run after a run. Fixed rate: it follows from the planned time, not from when the run really began or
 * ended. While a check is attentive its runs follow one another by the attentive interval; the first regular one
 * afterwards is back at the offset.
 */
export function planNext(options: PlanOptions): Plan {
  const { plannedMs, nowMs, regularIntervalMs, attentiveIntervalMs, splay } = options;
  const intervalMs = attentiveIntervalMs ?? regularIntervalMs;
  const nextMs = attentiveIntervalMs === null
    // From a time off the offset: at least half an interval later, so that two runs are never back to back.
    ? nextAtOffset(plannedMs + regularIntervalMs / 2, regularIntervalMs, splay)
    : plannedMs + attentiveIntervalMs;
  if (nextMs > nowMs) return { atMs: nextMs, missed: 0 };
  const missed = Math.floor((nowMs - nextMs) / intervalMs) + 1;
  return { atMs: nextMs + missed * intervalMs, missed };
}

interface FirstPlanOptions extends Omit<FirstRunOptions, "record">, Pick<PlanOptions, "splay"> {
  /** The next run by the stored state; `null` if it never ran. */
  readonly keptMs: number | null;
  readonly intervalMs: number;
}

/** The first run after a start: overdue ones first, then those that never ran, the others when they were planned. */
export function planFirst(options: FirstPlanOptions): number {
  const { keptMs, nowMs, intervalMs, splay, isBehindOverdue = false } = options;
  if (keptMs === null) {
    const withinMs = Math.min(intervalMs * FIRST_SHARE, FIRST_MS_MAX);
    return nowMs + Math.round((isBehindOverdue ? (1 + splay) / 2 : splay) * withinMs);
  }
  if (isTooFarAhead(keptMs, nowMs, intervalMs)) return nextAtOffset(nowMs, intervalMs, splay);
  if (keptMs > nowMs) return keptMs;
  return nowMs + Math.round(splay * Math.min(intervalMs * OVERDUE_SHARE, OVERDUE_MS_MAX));
}

/** Returns whether a run that is planned for a time may begin now, when cron drives the runs. */
export function isDue(plannedMs: number, nowMs: number, intervalMs: number): boolean {
  return plannedMs - nowMs <= Math.min(intervalMs * TOLERANCE_SHARE, TOLERANCE_MS_MAX);
}

/**
 * Returns whether a run is planned further ahead than its interval can have put it: the plan is from before a shorter
 * interval, or from before the clock was set back.
 */
export function isTooFarAhead(plannedMs: number, nowMs: number, intervalMs: number): boolean {
  return plannedMs - nowMs > AHEAD_INTERVALS_MAX * intervalMs;
}
