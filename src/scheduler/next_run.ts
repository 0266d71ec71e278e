/**
 * When a check runs next, in the continuous loop and under cron (`check --once --due`). Both use these rules, so both
 * plan the same runs, and each can continue the other's state.
 */
import { isAttentive } from "../condition/condition_state.ts";
import type { Check, Result } from "../domain/check.ts";
import type { ConditionState } from "../domain/condition.ts";
import { type CronSchedule, type CronTimes, isCron } from "../domain/schedule.ts";
import { isAfterGap } from "../engine/check_status.ts";
import { intervalOf, overdueAtMs, type Scheduled } from "../engine/overdue.ts";
import { type CheckRecord, isEdited } from "../domain/store.ts";
import type { Decided } from "../engine/decide.ts";
import type { Engine } from "../engine/engine.ts";
import { isDue, isTooFarAhead, type Plan, planFirst, planNext, splayOf } from "./plan.ts";

function splayOfCheck({ name, splay }: Scheduled): number {
  return splay ?? splayOf(name);
}

export function nextRunAfter(
  check: Scheduled,
  { state, plannedMs, nowMs }: {
    readonly state: ConditionState;
    readonly plannedMs: number;
    readonly nowMs: number;
  },
): Plan {
  const { schedule } = check;
  if (isCron(schedule)) {
    const attentiveIntervalMs = intervalOf(schedule, state);
    return nextCronRun(schedule.times, { attentiveIntervalMs, plannedMs, nowMs });
  }
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
function nextCronRun(
  times: CronTimes,
  { attentiveIntervalMs, plannedMs, nowMs }: {
    readonly attentiveIntervalMs: number | null;
    readonly plannedMs: number;
    readonly nowMs: number;
  },
): Plan {
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
    const keptMs = record.nextRunAtMs ?? nowMs + 1;
    const atMs = plannedCronRun(schedule, { keptMs, nowMs, state: record.condition });
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
export function missedUntil(
  check: Scheduled,
  { state, plannedMs, atMs }: {
    readonly state: ConditionState;
    readonly plannedMs: number;
    readonly atMs: number;
  },
): number {
  if (atMs <= plannedMs) return 0;
  const intervalMs = intervalOf(check.schedule, state);
  if (intervalMs !== null) return Math.floor((atMs - plannedMs) / intervalMs);
  return nextRunAfter(check, { state, plannedMs, nowMs: atMs }).missed;
}

/**
 * Returns when a cron check was to run or is to run, from its stored plan: the time at or after the stored one, but
 * none later than its next time, which another expression, or a clock that was set, may have moved earlier.
 */
function plannedCronRun(
  schedule: CronSchedule,
  { keptMs, nowMs, state }: {
    readonly keptMs: number;
    readonly nowMs: number;
    readonly state: ConditionState;
  },
): number {
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
    const keptMs = record.nextRunAtMs ?? nowMs - CALLED_EVERY_MS + 1;
    return isCronDue(schedule, plannedCronRun(schedule, { keptMs, nowMs, state }), nowMs);
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
    plan: (state) =>
      withOverdue(check, state, nextRunAfterRequested(check, { before, state, startedAtMs, nowMs })),
  }, nowMs);
}

/** Returns how long after its planned time a run began; one that came before that was not the planned one. */
function lagOf({ nextRunAtMs }: CheckRecord, { startedAtMs }: Result): number | null {
  return nextRunAtMs === null || startedAtMs < nextRunAtMs ? null : startedAtMs - nextRunAtMs;
}

interface AskedRunOptions {
  readonly before: CheckRecord;
  readonly state: ConditionState;
  readonly startedAtMs: number;
  readonly nowMs: number;
}

/**
 * The run after a requested one. If the check was due, that was the planned run. If it was not, the plan stays, unless
 * the result requires an earlier run.
 */
function nextRunAfterRequested(check: Check, options: AskedRunOptions): Plan {
  const { before, state, startedAtMs, nowMs } = options;
  const { schedule } = check;
  const keptMs = before.nextRunAtMs;
  if (isCron(schedule)) {
    const plannedMs = plannedCronRun(schedule, {
      keptMs: keptMs ?? startedAtMs - CALLED_EVERY_MS + 1,
      nowMs: startedAtMs,
      state: before.condition,
    });
    const wasDue = isCronDue(schedule, plannedMs, startedAtMs);
    return nextRunAfter(check, { state, plannedMs: wasDue ? plannedMs : startedAtMs, nowMs });
  }
  if (keptMs === null) {
    const plannedMs = firstRun(check, { record: before, nowMs: startedAtMs });
    return nextRunAfter(check, { state, plannedMs, nowMs });
  }
  const intervalMs = intervalOf(schedule, before.condition);
  if (isDue(keptMs, startedAtMs, intervalMs)) {
    return nextRunAfter(check, { state, plannedMs: keptMs, nowMs });
  }
  const afresh = nextRunAfter(check, { state, plannedMs: startedAtMs, nowMs });
  return { ...afresh, atMs: keptMs > nowMs ? Math.min(keptMs, afresh.atMs) : afresh.atMs, missed: 0 };
}
