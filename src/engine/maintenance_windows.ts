/**
 * Maintenance windows: when they are open. Whether one with times of day is open depends only on the present local time,
 * so DST changes require no rule: a skipped hour is in no window, a repeated hour is in its window twice.
 */
import {
  beginsOn,
  type CalendarWindow,
  type CronWindow,
  type MaintenanceWindow,
  type OneOffWindow,
} from "../domain/schedule.ts";
import { MINUTE_MS } from "../shared/time_units.ts";

export interface OpenWindow {
  /** That of the window that ends last; may be empty. */
  readonly reason: string;
  /** When none is open any more; `null`: not within a month. */
  readonly untilMs: number | null;
}

export function isInWindow(windows: readonly MaintenanceWindow[], nowMs: number): boolean {
  return windows.some((window) => isOpen(window, nowMs));
}

/** Returns the end of the windows that are open; `null`: none is. */
export function openWindow(windows: readonly MaintenanceWindow[], nowMs: number): OpenWindow | null {
  let untilMs = nowMs;
  let reason: string | null = null;
  let repeatedMs = 0;
  let links = 0;
  // Where one ends, another may go on.
  for (let window = openAt(windows, untilMs); window !== undefined; window = openAt(windows, untilMs)) {
    const endMs = endOf(window, untilMs);
    if (!isOneOff(window)) repeatedMs += endMs - untilMs;
    untilMs = endMs;
    reason = window.reason ?? "";
    if (repeatedMs > MONTH_MS || ++links > LINKS_MAX) return { reason, untilMs: null };
  }
  return reason === null ? null : { reason, untilMs };
}

const MONTH_MS = 31 * 24 * 3_600_000;
/** A chain of this many windows costs some milliseconds. */
const LINKS_MAX = 1000;
const MINUTES_A_DAY = 24 * 60;

function openAt(windows: readonly MaintenanceWindow[], timeMs: number): MaintenanceWindow | undefined {
  return windows.find((window) => isOpen(window, timeMs));
}

export function isOneOff(window: MaintenanceWindow): window is OneOffWindow {
  return "fromMs" in window;
}

function isOfCron(window: MaintenanceWindow): window is CronWindow {
  return "times" in window;
}

function isOpen(window: MaintenanceWindow, timeMs: number): boolean {
  if (isOneOff(window)) return window.fromMs <= timeMs && timeMs < window.untilMs;
  if (isOfCron(window)) return window.times.after(timeMs - window.durationMs) <= timeMs;
  return isOpenAt(window, shownAt(timeMs, window));
}

/** Returns the beginning of the minute in the window's time zone. Local time is computed once a minute for all windows of a zone. */
function shownAt(timeMs: number, { timeZone }: CalendarWindow): Temporal.ZonedDateTime {
  const minuteMs = Math.floor(timeMs / MINUTE_MS) * MINUTE_MS;
  const known = lastShown.get(timeZone);
  if (known?.epochMilliseconds === minuteMs) return known;
  const shown = Temporal.Instant.fromEpochMilliseconds(minuteMs).toZonedDateTimeISO(timeZone);
  lastShown.set(timeZone, shown);
  return shown;
}

const lastShown = new Map<string, Temporal.ZonedDateTime>();

function isOpenAt(window: CalendarWindow, shown: Temporal.ZonedDateTime): boolean {
  const { fromMinute, toMinute } = window;
  const minute = minuteOf(shown);
  if (fromMinute < toMinute) {
    return minute >= fromMinute && minute < toMinute && beginsOn(window, shown);
  }
  return (minute >= fromMinute && beginsOn(window, shown)) ||
    (minute < toMinute && beginsOn(window, shown.toPlainDate().subtract({ days: 1 })));
}

function minuteOf(shown: Temporal.ZonedDateTime): number {
  return shown.hour * 60 + shown.minute;
}

/** Returns the end of an open window: at its time, or earlier if a DST change leads to a time outside it. */
function endOf(window: MaintenanceWindow, nowMs: number): number {
  if (isOneOff(window)) return window.untilMs;
  if (isOfCron(window)) return window.times.after(nowMs - window.durationMs) + window.durationMs;
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

interface WindowTimes {
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

/** Returns the times in a period at which a window is open, the first one first. */
export function openTimes(
  window: MaintenanceWindow,
  { sinceMs, untilMs }: Readonly<Record<"sinceMs" | "untilMs", number>>,
): readonly { readonly fromMs: number; readonly toMs: number }[] {
  const times: { fromMs: number; toMs: number }[] = [];
  for (let atMs = sinceMs; atMs < untilMs;) {
    const next = nextWindow(window, atMs);
    if (next === null) break;
    const fromMs = next.fromMs ?? atMs;
    if (fromMs >= untilMs) break;
    const toMs = Math.min(next.untilMs ?? untilMs, untilMs);
    times.push({ fromMs, toMs });
    atMs = Math.max(toMs, fromMs + 1);
  }
  return times;
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
