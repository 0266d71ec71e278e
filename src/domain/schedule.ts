/** When checks run, and when notifications of them are suppressed. */
/** Runs spread over time: an interval, and where in it a check runs comes from its name. */
export interface IntervalSchedule {
  /** The time from one planned run to the next while the check is not failing; 1000 or more. */
  readonly regularIntervalMs: number;
  /** Applies while the check is failing; equal to the regular one if the config sets none. */
  readonly attentiveIntervalMs: number;
}

export interface CronSchedule {
  readonly times: CronTimes;
  /** While the check is failing it also runs so long after each run; `null`: at its times alone. */
  readonly attentiveIntervalMs: number | null;
}

export type Schedule = IntervalSchedule | CronSchedule;

/** The times of a cron expression. Two values with the same fields have the same times. */
export interface CronTimes {
  /** As the config has it. */
  readonly expression: string;
  /** A name of the time zone database, such as `Europe/Zurich`. */
  readonly timeZone: string;
  /** The first time later than the given one, milliseconds since 1970; there always is one. */
  after(afterMs: number): number;
}

export function isCron(schedule: Schedule): schedule is CronSchedule {
  return "times" in schedule;
}

interface Sight {
  /** The longest time between two runs while the check is not failing: a shorter outage may be missed. */
  readonly missedMs: number;
  /** How uncertain the length of an outage is: from the last run before it to its first, and from its last to the next. */
  readonly uncertainMs: number;
}

/** Returns what a schedule shows of an outage. */
export function sightOf(schedule: Schedule): Sight {
  const missedMs = isCron(schedule) ? longestPause(schedule) : schedule.regularIntervalMs;
  return { missedMs, uncertainMs: missedMs + (schedule.attentiveIntervalMs ?? missedMs) };
}

/**
 * Returns how far apart two runs may be that show the time between them: until a check would be overdue that is not
 * failing. One that is failing may ask for runs more often than cron calls the program, and is observed all the same.
 */
export function observedGapMs(schedule: Schedule): number {
  return 3 * sightOf(schedule).missedMs;
}

/** The longest pauses of cron expressions: each run of a check that burns its error budget asks for it. */
const pauses = new WeakMap<CronTimes, number>();

/** Returns the longest time between two of many times of a cron expression. */
function longestPause({ times }: CronSchedule): number {
  const known = pauses.get(times);
  if (known !== undefined) return known;
  let longestMs = 0;
  let atMs = times.after(0);
  for (let count = 0; count < TIMES_COMPARED; count++) {
    const nextMs = times.after(atMs);
    longestMs = Math.max(longestMs, nextMs - atMs);
    atMs = nextMs;
  }
  pauses.set(times, longestMs);
  return longestMs;
}

const TIMES_COMPARED = 300;

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
