/** Whether the next run of a record is overdue, or its last one lies in the future; `check_status.ts` has the other reasons. */
import { isAttentive } from "../condition/condition_state.ts";
import type { Check } from "../domain/check.ts";
import type { Condition, ConditionState } from "../domain/condition.ts";
import { type IntervalSchedule, isCron, type Schedule } from "../domain/schedule.ts";
import type { CheckRecord } from "../domain/store.ts";

/** The fields of a check that determine when it runs, and whether its record is current. */
export type Scheduled = Pick<Check, "name" | "schedule" | "splay" | "definition" | "locations" | "agent">;

type OverdueRecord =
  & Pick<CheckRecord, "condition" | "nextRunAtMs">
  & Partial<Pick<CheckRecord, "overdueAtMs" | "last">>;

/** How long a result of an agent may be under way. */
export const REPORT_MARGIN_MS = 60_000;

/** By how much the clocks of machines that share a state may differ. */
const CLOCK_DIFFERENCE_MS = 5 * 60_000;

/** Returns by how much the times of a record may be of another clock. */
export function clockToleranceMs({ isShared = false }: Pick<CheckRecord, "isShared">): number {
  return isShared ? CLOCK_DIFFERENCE_MS : 0;
}

/** The interval that applies: the attentive one while a check is failing. `null`: only its cron times apply. */
export function intervalOf(schedule: IntervalSchedule, state: ConditionState): number;
export function intervalOf(schedule: Schedule, state: ConditionState): number | null;
export function intervalOf(schedule: Schedule, state: ConditionState): number | null {
  if (isAttentive(state)) return schedule.attentiveIntervalMs;
  return isCron(schedule) ? null : schedule.regularIntervalMs;
}

/** Returns the run after now while the check is not failing. */
export function regularRunAfter({ schedule }: Scheduled, nowMs: number): number {
  return isCron(schedule) ? schedule.times.after(nowMs) : nowMs + schedule.regularIntervalMs;
}

/**
 * When a planned run is so late that the monitor seems to be dead: at the second run after it, but not while it may be
 * in progress. At once if none is planned: nothing runs the check. What an agent runs is planned there.
 */
export function overdueAtMs(
  check: Scheduled & Pick<Check, "timeoutMs">,
  { condition, nextRunAtMs, overdueAtMs: knownMs, last }: OverdueRecord,
): number {
  const isPlannedElsewhere = check.agent !== undefined && last?.report !== undefined && knownMs !== undefined;
  if (isPlannedElsewhere) return nextRunAtMs === null ? -Infinity : knownMs ?? -Infinity;
  return nextRunAtMs === null ? -Infinity : secondRunAfter(check, condition, nextRunAtMs);
}

/**
 * Returns whether a record's last run is in the future, by more than a small clock correction. Its condition has no
 * meaning then: it would seem fresh until that time, even if the monitor died.
 */
export function isInFuture(
  check: Scheduled & Pick<Check, "timeoutMs">,
  record: CheckRecord,
  nowMs: number,
): boolean {
  const { condition, last } = record;
  const lastMs = Math.max(last?.startedAtMs ?? -Infinity, condition.observedAtMs ?? -Infinity);
  return lastMs > nowMs + clockToleranceMs(record) && lastMs > secondRunAfter(check, condition, nowMs);
}

/** Returns the second run after a time, but no earlier than a run that takes its whole timeout and the run after it. */
function secondRunAfter(
  check: Scheduled & Pick<Check, "timeoutMs">,
  state: ConditionState,
  timeMs: number,
): number {
  const intervalMs = intervalOf(check.schedule, state);
  if (intervalMs !== null) return timeMs + graceMs(intervalMs, check.timeoutMs);
  return regularRunAfter(check, regularRunAfter(check, timeMs));
}

/** Returns how long after the begin of a run at one location the next one is overdue there, where nothing is confirmed. */
export function locationOverdueMs(
  { schedule, timeoutMs }: { readonly schedule: IntervalSchedule; readonly timeoutMs: number },
  condition: Condition,
): number {
  const intervalMs = intervalAfter(condition, schedule);
  return intervalMs + graceMs(intervalMs, timeoutMs);
}

/**
 * Returns how long after the begin of a run at one location its result counts. Less than until it is overdue: a result
 * of all locations rests on results as old as that, and counts until it is overdue itself.
 */
export function locationCountsMs(
  { schedule, timeoutMs }: { readonly schedule: IntervalSchedule; readonly timeoutMs: number },
  condition: Condition,
): number {
  return 1.5 * intervalAfter(condition, schedule) + timeoutMs;
}

function intervalAfter(condition: Condition, schedule: IntervalSchedule): number {
  return condition === "ok" ? schedule.regularIntervalMs : schedule.attentiveIntervalMs;
}

function graceMs(intervalMs: number, timeoutMs: number): number {
  return Math.max(OVERDUE_INTERVALS * intervalMs, timeoutMs + intervalMs);
}

const OVERDUE_INTERVALS = 2;
