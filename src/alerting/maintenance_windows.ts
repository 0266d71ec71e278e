/**
 * Maintenance windows: weekly times in local time. Whether one is open depends only on the present local time, so DST
 * changes require no rule: a skipped hour is in no window, a repeated hour is in its window twice.
 */
import {
  type CalendarWindow,
  type MaintenanceWindow,
  type OneOffWindow,
  WEEKDAYS,
} from "../domain/maintenance_window.ts";

/** The open windows. */
export interface OpenWindow {
  /** That of the window that ends last; may be empty. */
  readonly reason: string;
  /** When none is open any more; `null`: not within a month. */
  readonly untilMs: number | null;
}

/** Whether any of the windows is open. */
export function isInWindow(windows: readonly MaintenanceWindow[], nowMs: number): boolean {
  return windows.some((window) => isOpen(window, nowMs));
}

/** Returns the end of the windows that are open; `null`: none is. */
export function openWindow(windows: readonly MaintenanceWindow[], nowMs: number): OpenWindow | null {
  let untilMs = nowMs;
  let reason: string | null = null;
  let repeatedMs = 0;
  // Where one ends, another may go on.
  for (let window = openAt(windows, untilMs); window !== undefined; window = openAt(windows, untilMs)) {
    const endMs = endOf(window, untilMs);
    if (!isOneOff(window)) repeatedMs += endMs - untilMs;
    untilMs = endMs;
    reason = window.reason ?? "";
    if (repeatedMs > MONTH_MS) return { reason, untilMs: null };
  }
  return reason === null ? null : { reason, untilMs };
}

const MONTH_MS = 31 * 24 * 3_600_000;
const MINUTES_A_DAY = 24 * 60;

function openAt(windows: readonly MaintenanceWindow[], timeMs: number): MaintenanceWindow | undefined {
  return windows.find((window) => isOpen(window, timeMs));
}

function isOneOff(window: MaintenanceWindow): window is OneOffWindow {
  return "fromMs" in window;
}

function isOpen(window: MaintenanceWindow, timeMs: number): boolean {
  if (isOneOff(window)) return window.fromMs <= timeMs && timeMs < window.untilMs;
  return isOpenAt(window, shownAt(timeMs, window));
}

/** Returns the local time in the window's time zone. */
function shownAt(timeMs: number, { timeZone }: CalendarWindow): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(Math.floor(timeMs)).toZonedDateTimeISO(timeZone);
}

function isOpenAt(window: CalendarWindow, shown: Temporal.ZonedDateTime): boolean {
  const { fromMinute, toMinute } = window;
  const minute = minuteOf(shown);
  if (fromMinute < toMinute) {
    return minute >= fromMinute && minute < toMinute && beginsOn(window, shown.dayOfWeek);
  }
  return (minute >= fromMinute && beginsOn(window, shown.dayOfWeek)) ||
    (minute < toMinute && beginsOn(window, shown.toPlainDate().subtract({ days: 1 }).dayOfWeek));
}

function minuteOf(shown: Temporal.ZonedDateTime): number {
  return shown.hour * 60 + shown.minute;
}

/** Whether a window begins on a day of the week, Monday being 1. */
function beginsOn({ days }: CalendarWindow, day: number): boolean {
  const name = WEEKDAYS[day - 1];
  return days === undefined || (name !== undefined && days.includes(name));
}

/** When an open window ends: at its time, or earlier where the clock is set to a time that is not in it. */
function endOf(window: MaintenanceWindow, nowMs: number): number {
  if (isOneOff(window)) return window.untilMs;
  const shown = shownAt(nowMs, window);
  const endsToday = minuteOf(shown) < window.toMinute;
  const midnight = shown.toPlainDate().add({ days: endsToday ? 0 : 1 }).toPlainDateTime();
  const end = midnight.add({ minutes: window.toMinute });
  const untilMs = (["earlier", "later"] as const)
    .map((disambiguation) => end.toZonedDateTime(window.timeZone, { disambiguation }).epochMilliseconds)
    .find((endMs) => endMs > nowMs) ?? nowMs + MINUTES_A_DAY * 60_000;
  const change = shown.getTimeZoneTransition("next");
  const isCutShort = change !== null && change.epochMilliseconds < untilMs && !isOpenAt(window, change);
  return isCutShort ? change.epochMilliseconds : untilMs;
}
