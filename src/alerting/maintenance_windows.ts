/**
 * Maintenance windows: weekly times in local time. Whether one is open depends only on the present local time, so DST
 * changes require no rule: a skipped hour is in no window, a repeated hour is in its window twice.
 */
import { type MaintenanceWindow, WEEKDAYS } from "../domain/maintenance_window.ts";

export interface OpenWindow {
  /** The one that ends last, where several are. */
  readonly window: MaintenanceWindow;
  /** When none is open any more; `null`: not within a month. */
  readonly untilMs: number | null;
}

/** Whether any of the windows is open. */
export function isInWindow(windows: readonly MaintenanceWindow[], nowMs: number): boolean {
  return windows.some((window) => isOpen(window, shownAt(nowMs, window)));
}

/** The window that is open, with its end; `null`: none is. */
export function openWindow(windows: readonly MaintenanceWindow[], nowMs: number): OpenWindow | null {
  const openAt = (timeMs: number): MaintenanceWindow | undefined =>
    windows.find((window) => isOpen(window, shownAt(timeMs, window)));
  const window = openAt(nowMs);
  if (window === undefined) return null;
  let untilMs = nowMs;
  let latest = window;
  // Where one ends, another may go on.
  for (let next: MaintenanceWindow | undefined = window; next !== undefined; next = openAt(untilMs)) {
    latest = next;
    untilMs = endOf(next, untilMs);
    if (untilMs - nowMs > MONTH_MS) return { window: latest, untilMs: null };
  }
  return { window: latest, untilMs };
}

const MONTH_MS = 31 * 24 * 3_600_000;
const MINUTES_A_DAY = 24 * 60;

/** Returns the local time in the window's time zone. */
function shownAt(timeMs: number, { timeZone }: MaintenanceWindow): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(Math.floor(timeMs)).toZonedDateTimeISO(timeZone);
}

function isOpen(window: MaintenanceWindow, shown: Temporal.ZonedDateTime): boolean {
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
function beginsOn({ days }: MaintenanceWindow, day: number): boolean {
  const name = WEEKDAYS[day - 1];
  return days === undefined || (name !== undefined && days.includes(name));
}

/** When an open window ends: at its time, or earlier where the clock is set to a time that is not in it. */
function endOf(window: MaintenanceWindow, nowMs: number): number {
  const shown = shownAt(nowMs, window);
  const endsToday = minuteOf(shown) < window.toMinute;
  const midnight = shown.toPlainDate().add({ days: endsToday ? 0 : 1 }).toPlainDateTime();
  const end = midnight.add({ minutes: window.toMinute });
  const untilMs = (["earlier", "later"] as const)
    .map((disambiguation) => end.toZonedDateTime(window.timeZone, { disambiguation }).epochMilliseconds)
    .find((endMs) => endMs > nowMs) ?? nowMs + MINUTES_A_DAY * 60_000;
  const change = shown.getTimeZoneTransition("next");
  const isCutShort = change !== null && change.epochMilliseconds < untilMs && !isOpen(window, change);
  return isCutShort ? change.epochMilliseconds : untilMs;
}
