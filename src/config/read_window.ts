import type { Window } from "../domain/generated/config.ts";
import type { DayRange, MaintenanceWindow } from "../domain/maintenance_window.ts";
import type { CronTimes } from "../domain/schedule.ts";
import { quoteValue } from "./problem.ts";
import type { CreateCronTimes } from "./schedules.ts";
import { minuteOfDay } from "./quantities.ts";

interface ReadWindowOptions {
  readonly timeZone: string;
  readonly createCronTimes: CreateCronTimes;
}

/** Reads a window. With an unresolved placeholder it never opens. */
export function readWindow(written: Window, options: ReadWindowOptions): MaintenanceWindow {
  const { from = "", until, cron, days, months, daysOfMonth, reason } = written;
  const timeZone = written.timeZone ?? options.timeZone;
  const common = reason === undefined ? {} : { reason };
  if (isUnresolved(written)) return { ...common, fromMs: NaN, untilMs: NaN };
  if (cron !== undefined) {
    return {
      ...common,
      times: readTimes(cron, { ...options, timeZone }),
      durationMs: written.durationMs ?? NaN,
    };
  }
  if (until !== undefined) {
    const fromMs = readTime(from, { timeZone, edge: "from" }) ?? NaN;
    return { ...common, fromMs, untilMs: readTime(until, { timeZone, edge: "until" }) ?? NaN };
  }
  return {
    ...common,
    ...days !== undefined && { days },
    ...months !== undefined && { months },
    ...daysOfMonth !== undefined && { daysOfMonth: daysOfMonth.flatMap((item) => readDays(item) ?? []) },
    fromMinute: minuteOfDay(from) ?? NaN,
    toMinute: written.toMinute ?? NaN,
    timeZone,
  };
}

function isUnresolved(
  { from, toMinute, until, cron, durationMs, timeZone, daysOfMonth = [] }: Window,
): boolean {
  return [from, until, cron, timeZone, ...daysOfMonth].some((value) => String(value).includes("${")) ||
    Number.isNaN(toMinute) || Number.isNaN(durationMs);
}

/** @throws {Error} If the expression was not validated. */
function readTimes(expression: string, { timeZone, createCronTimes }: ReadWindowOptions): CronTimes {
  const times = createCronTimes(expression, timeZone);
  if (times === null) {
    throw new Error(`Cannot read the expression ${quoteValue(expression)}: it was not validated`);
  }
  return times;
}

/** Reads an item of `days_of_month`; `null`: it is none, such as an object. */
export function readDays(item: unknown): DayRange | null {
  if (typeof item !== "number" && typeof item !== "string") return null;
  const [, from, to] = /^(-?\d{1,2}):(-?\d{1,2})$/.exec(String(item)) ?? [];
  const range = from === undefined || to === undefined
    ? { from: Number(item), to: Number(item) }
    : { from: Number(from), to: Number(to) };
  return [range.from, range.to].every((day) => Number.isInteger(day) && day !== 0 && Math.abs(day) <= 31)
    ? range
    : null;
}

const FORM = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(Z|[+-]\d\d:\d\d)?)?$/;

/**
 * Reads a date, or a date and time, as milliseconds since 1970; `null`: it is none, such as February 30. A time that a
 * DST change skips is the time of the change. Of a repeated time, a window begins with the first and ends with the second.
 */
export function readTime(
  text: string,
  { timeZone, edge }: { readonly timeZone: string; readonly edge: "from" | "until" },
): number | null {
  const [, date, time = "00:00", offset] = FORM.exec(text) ?? [];
  if (date === undefined) return null;
  try {
    if (offset !== undefined) return Temporal.Instant.from(`${date}T${time}${offset}`).epochMilliseconds;
    const shown = Temporal.PlainDateTime.from(`${date}T${time}`);
    const [earlier, later] = [
      shown.toZonedDateTime(timeZone, { disambiguation: "earlier" }),
      shown.toZonedDateTime(timeZone, { disambiguation: "later" }),
    ];
    const exists = earlier.toPlainDateTime().equals(shown);
    const at = exists ? edge === "from" ? earlier : later : earlier.getTimeZoneTransition("next") ?? later;
    return at.epochMilliseconds;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
