import { beginsOn, type CalendarWindow, type MaintenanceWindow } from "../domain/maintenance_window.ts";
import { isInWindow, isOfCron, isOneOff, openWindow } from "./maintenance_windows.ts";

/** When a window is open. */
export interface WindowTimes {
  /** `null`: it is open now. */
  readonly fromMs: number | null;
  /** Its end; `null`: not within a month after its beginning. */
  readonly untilMs: number | null;
}

/** Returns the present or next time of a window; `null`: it never opens again. */
export function nextWindow(window: MaintenanceWindow, nowMs: number): WindowTimes | null {
  const open = openWindow([window], nowMs);
  if (open !== null) return { fromMs: null, untilMs: open.untilMs };
  const fromMs = nextBegin(window, nowMs);
  if (fromMs === null) return null;
  return { fromMs, untilMs: openWindow([window], fromMs)?.untilMs ?? fromMs };
}

function nextBegin(window: MaintenanceWindow, nowMs: number): number | null {
  if (isOneOff(window)) return window.fromMs > nowMs ? window.fromMs : null;
  if (isOfCron(window)) {
    const fromMs = window.times.after(nowMs);
    return Number.isFinite(fromMs) ? fromMs : null;
  }
  return nextBeginOnDays(window, nowMs);
}

/** February 29 on one day of the week comes once in 40 years, if a year without it lies between. */
const DAYS_MAX = 41 * 366;

function nextBeginOnDays(window: CalendarWindow, nowMs: number): number | null {
  let date = Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO(window.timeZone).toPlainDate()
    .subtract({ days: 1 });
  let first: number | null = null;
  for (let day = 0; day < DAYS_MAX; day++, date = date.add({ days: 1 })) {
    const begins = beginsOn(window, date) ? beginsOf(window, date) : [];
    const found = begins.filter((ms) => ms > nowMs && isInWindow([window], ms));
    // A DST change after one day's window may be later than the next day's window.
    if (first !== null) return Math.min(first, ...found);
    if (found.length > 0) first = Math.min(...found);
  }
  return first;
}

/** Returns the times at which the window of a day may open: at its local time, and where a DST change leads into it. */
function beginsOf({ fromMinute, timeZone }: CalendarWindow, date: Temporal.PlainDate): readonly number[] {
  const begin = date.toPlainDateTime().add({ minutes: fromMinute });
  const times = (["earlier", "later"] as const).map((disambiguation) =>
    begin.toZonedDateTime(timeZone, { disambiguation }).epochMilliseconds
  );
  const change = date.toZonedDateTime(timeZone).getTimeZoneTransition("next");
  const end = date.add({ days: 2 }).toZonedDateTime(timeZone);
  return change === null || change.epochMilliseconds >= end.epochMilliseconds
    ? times
    : [...times, change.epochMilliseconds];
}
