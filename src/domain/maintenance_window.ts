import type { CronTimes } from "./schedule.ts";

/** The days of the week, as the config names them, Monday first. */
export const WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

/** The months, as the config names them, January first. */
export const MONTHS = [
  "jan",
  "feb",
  "mar",
  "apr",
  "may",
  "jun",
  "jul",
  "aug",
  "sep",
  "oct",
  "nov",
  "dec",
] as const;

export type MaintenanceWindow = CalendarWindow | CronWindow | OneOffWindow;

/** Times of day, every day or on some days, by local time. */
export interface CalendarWindow {
  /** The days of the week on which it begins; absent: every day. */
  readonly days?: readonly (typeof WEEKDAYS)[number][];
  /** The days of the month on which it begins; absent: every day. */
  readonly daysOfMonth?: readonly DayRange[];
  /** The months in which it begins; absent: every month. */
  readonly months?: readonly (typeof MONTHS)[number][];
  /** The beginning: minutes after midnight, below 1440. */
  readonly fromMinute: number;
  /** The end: minutes after midnight, 1440 at most; on the next day if it is not later than the beginning. */
  readonly toMinute: number;
  /** A name of the time zone database, such as `Europe/Zurich`. */
  readonly timeZone: string;
  readonly reason?: string;
}

/** Days of a month, 1 to 31, or -1 to -31 from its end; both included. A day that the month lacks is in no range. */
export interface DayRange {
  readonly from: number;
  readonly to: number;
}

/** A duration from each time of a cron expression. */
export interface CronWindow {
  readonly times: CronTimes;
  /** Exact, also across a DST change; milliseconds. */
  readonly durationMs: number;
  readonly reason?: string;
}

export interface OneOffWindow {
  readonly fromMs: number;
  /** Its end, which is no longer in it; wall time, milliseconds since 1970. */
  readonly untilMs: number;
  readonly reason?: string;
}

/** Returns whether a window begins on a day, if all that it names apply. */
export function beginsOn(
  { days, daysOfMonth, months }: Pick<CalendarWindow, "days" | "daysOfMonth" | "months">,
  date: LocalDate,
): boolean {
  const weekday = WEEKDAYS[date.dayOfWeek - 1];
  const month = MONTHS[date.month - 1];
  return (days === undefined || weekday !== undefined && days.includes(weekday)) &&
    (months === undefined || month !== undefined && months.includes(month)) &&
    (daysOfMonth === undefined || daysOfMonth.some((range) => isInRange(range, date)));
}

/** A day; Monday is 1, January is 1. */
export type LocalDate = Pick<Temporal.PlainDate, "dayOfWeek" | "day" | "month" | "daysInMonth">;

function isInRange({ from, to }: DayRange, { day, daysInMonth }: LocalDate): boolean {
  const dayOf = (number: number): number => number < 0 ? daysInMonth + 1 + number : number;
  return day >= dayOf(from) && day <= dayOf(to);
}
