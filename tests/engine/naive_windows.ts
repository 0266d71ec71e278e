/**
 * Definitions of windows that are independent of the product's: each minute is evaluated by itself, from the local
 * time that `Intl` formats.
 */
import assert from "node:assert/strict";

export const MINUTE = 60_000;

/** Local time. */
interface Shown {
  readonly weekday: string;
  readonly month: string;
  readonly year: number;
  readonly day: number;
  /** Minutes after midnight. */
  readonly minute: number;
}

/** Returns a function that formats the local time of a time zone. */
export function createWallClock(timeZone: string): (ms: number) => Shown {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    weekday: "short",
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  return (ms) => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]));
    const partOf = (name: Intl.DateTimeFormatPartTypes): string => parts.get(name) ?? assert.fail(name);
    return {
      weekday: partOf("weekday").toLowerCase(),
      month: partOf("month").toLowerCase(),
      year: Number(partOf("year")),
      day: Number(partOf("day")),
      minute: Number(partOf("hour")) * 60 + Number(partOf("minute")),
    };
  };
}

/** Days, months and times of a window as the config has them. */
export interface NaiveWindow {
  readonly days?: readonly string[];
  readonly daysOfMonth?: readonly (readonly [from: number, to: number])[];
  readonly months?: readonly string[];
  readonly fromMinute: number;
  readonly toMinute: number;
}

/** Whether the window is open in a minute. */
export function isNaivelyOpen(window: NaiveWindow, { minute, ...today }: Shown): boolean {
  const { fromMinute, toMinute } = window;
  if (fromMinute < toMinute) return minute >= fromMinute && minute < toMinute && isNaiveDay(window, today);
  return minute >= fromMinute && isNaiveDay(window, today) ||
    minute < toMinute && isNaiveDay(window, dayBefore(today));
}

const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const DAYS = "sun mon tue wed thu fri sat".split(" ");

type Day = Omit<Shown, "minute">;

function dayBefore({ year, month, day }: Day): Day {
  const date = new Date(Date.UTC(year, MONTHS.indexOf(month), day - 1));
  return {
    weekday: DAYS[date.getUTCDay()] ?? assert.fail(),
    month: MONTHS[date.getUTCMonth()] ?? assert.fail(),
    year: date.getUTCFullYear(),
    day: date.getUTCDate(),
  };
}

function isNaiveDay({ days, daysOfMonth, months }: NaiveWindow, today: Day): boolean {
  const { weekday, month, year, day } = today;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const length = month === "feb" ? isLeap ? 29 : 28 : ["apr", "jun", "sep", "nov"].includes(month) ? 30 : 31;
  // The 31 numbers of days, of which a shorter month has the first; from its end, -1 is its last.
  const numbersOf = (from: number, to: number): readonly number[] =>
    Array.from({ length: 31 }, (_, index) => index + 1).filter((number) => {
      const fromEnd = number - length - 1;
      return (from > 0 ? number >= from : fromEnd >= from) && (to > 0 ? number <= to : fromEnd <= to);
    });
  return (days === undefined || days.includes(weekday)) && (months === undefined || months.includes(month)) &&
    (daysOfMonth === undefined || daysOfMonth.some(([from, to]) => numbersOf(from, to).includes(day)));
}
