/** The runs of a check that change nothing but counts, so that a rehearsal leaves them out. Pure. */
import { afterRepeated, isSteady } from "../condition/transition.ts";
import { mayActLater } from "../condition/action.ts";
import { reminderAfterMs } from "../condition/condition_state.ts";
import { dueAtMs } from "../engine/channel_filters.ts";
import { nextWindow } from "../engine/maintenance_windows.ts";
import { intervalOf } from "../engine/check_status.ts";
import type { Check } from "../domain/check.ts";
import type { ConditionState } from "../domain/condition.ts";
import type { MaintenanceWindow } from "../domain/schedule.ts";
import type { Silence } from "../domain/outbox.ts";
import type { CheckRecord } from "../domain/store.ts";
import { nextRunAfter, withOverdue } from "../scheduler/next_run.ts";
import { DAY_MS } from "../shared/time_units.ts";
import type { Decided } from "../engine/decide.ts";

interface Moment {
  /** Those that are not over. */
  readonly silences: readonly Silence[];
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * Returns until when further runs with the same result lead to nothing, unless something else happens: a check that it
 * depends on changes, an administrator acts, or a channel does not accept a notification. `nowMs`: not even the next one.
 */
export function quietUntilMs(
  check: Check,
  { record: { condition: state }, notification, suppressed }: Decided,
  moment: Moment,
): number {
  const { nowMs } = moment;
  // Slow runs and high values add up, and so does the time of a burn.
  if (check.duration !== undefined || check.metrics !== undefined || mayBurn(check, state)) return nowMs;
  if (notification !== null || !isSteady(check, state) || mayActLater(check, state)) return nowMs;
  // That nothing is due of an ok does not depend on the time.
  if (state.confirmed === "ok") return suppressed === null ? Infinity : nowMs;
  if (check.reminders === true) return nowMs;
  const remindedMs = check.reminders === false || state.notifiedAtMs === null
    ? -Infinity
    : Math.floor(state.notifiedAtMs + reminderAfterMs(check.reminders, state)) - 1;
  // One that was due already is suppressed, or the problem is acknowledged.
  return Math.min(remindedMs > nowMs ? remindedMs : Infinity, decidesAgainMs(check, state, moment));
}

/** Returns whether a run changes how the error budget burns. */
function mayBurn({ objective }: Check, { burn, observed }: ConditionState): boolean {
  const isUp = observed === null || observed === "ok" || observed === "warning";
  return objective !== undefined && (!isUp || (burn?.recent.length ?? 0) > 0);
}

/**
 * Returns when the time alone may change what is due of a problem: a maintenance window or the hours of a channel begin
 * or end, a silence ends, or the problem has lasted long enough for a channel.
 */
export function decidesAgainMs(
  { maintenanceWindows, notifications }: Check,
  state: ConditionState,
  { silences, nowMs }: Moment,
): number {
  const windows = [...maintenanceWindows, ...notifications.flatMap(({ hours = [] }) => hours)];
  const times = [
    ...windows.map((window) => boundaryAfter(window, nowMs)),
    ...notifications.flatMap((channel) =>
      channel.afterMs === undefined ? [] : [dueAtMs(channel, state, nowMs)]
    ),
    ...silences.map(({ untilMs }) => untilMs),
  ];
  return Math.min(...times.filter((ms) => ms > nowMs), Infinity);
}

/** The last answer for each window: that is asked for each check, at each of its runs. */
const boundaries = new WeakMap<MaintenanceWindow, { readonly sinceMs: number; readonly untilMs: number }>();
/** A window that is open for longer is asked again. */
const ASKED_AGAIN_MS = 28 * DAY_MS;

/** Returns when a window begins or ends next; `Infinity`: never. */
function boundaryAfter(window: MaintenanceWindow, nowMs: number): number {
  const known = boundaries.get(window);
  if (known !== undefined && known.sinceMs <= nowMs && nowMs < known.untilMs) return known.untilMs;
  const next = nextWindow(window, nowMs);
  const untilMs = next === null ? Infinity : next.fromMs ?? next.untilMs ?? nowMs + ASKED_AGAIN_MS;
  boundaries.set(window, { sinceMs: nowMs, untilMs });
  return untilMs;
}

/** Runs that were left out. */
export interface SkippedRuns {
  readonly count: number;
  /** When the last of them was planned. */
  readonly lastMs: number;
  /** When the run after them is planned. */
  readonly nextMs: number;
}

/** The span from a planned run to the time before which runs are counted. */
export interface RunSpan {
  readonly fromMs: number;
  readonly beforeMs: number;
  /** Whether a run at exactly that time is included. @default false */
  readonly isIncluded?: boolean;
}

/** Returns the runs of a steady check from a planned one on that come before a time, or at it. */
export function runsBefore(
  check: Check,
  state: ConditionState,
  { fromMs, beforeMs, isIncluded = false }: RunSpan,
): SkippedRuns {
  const isBefore = (ms: number): boolean => ms < beforeMs || isIncluded && ms === beforeMs;
  if (!("times" in check.schedule)) {
    const intervalMs = intervalOf(check.schedule, state);
    const passed = (beforeMs - fromMs) / intervalMs;
    const count = Math.max(0, isIncluded ? Math.floor(passed) + 1 : Math.ceil(passed));
    return { count, lastMs: fromMs + (count - 1) * intervalMs, nextMs: fromMs + count * intervalMs };
  }
  let runs: SkippedRuns = { count: 0, lastMs: fromMs, nextMs: fromMs };
  while (isBefore(runs.nextMs)) {
    const plannedMs = runs.nextMs;
    const { atMs } = nextRunAfter(check, { state, plannedMs, nowMs: plannedMs });
    runs = { count: runs.count + 1, lastMs: plannedMs, nextMs: atMs };
  }
  return runs;
}

/** Returns the record of a steady check after runs that were left out: as if each of them had been recorded. */
export function afterSkipped(
  check: Check,
  record: CheckRecord,
  { count, lastMs, nextMs }: SkippedRuns,
): CheckRecord {
  const { last } = record;
  if (last === null) throw new Error("Only a result can come again");
  const condition = afterRepeated(record.condition, count, lastMs);
  return {
    ...record,
    condition,
    last: { ...last, startedAtMs: lastMs, lateMs: 0 },
    nextRunAtMs: nextMs,
    overdueAtMs: withOverdue(check, condition, { atMs: nextMs }).overdueAtMs,
    runs: { ...record.runs, [last.condition]: record.runs[last.condition] + count },
    seenAtMs: lastMs,
  };
}
