/** The days of the week, as the config names them, Monday first. */
export const WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

/** A day of the week. */
type Weekday = (typeof WEEKDAYS)[number];

/** A time during which notifications are suppressed. */
export type MaintenanceWindow = CalendarWindow | OneOffWindow;

/** A time that comes once. */
export interface OneOffWindow {
  /** Wall time, milliseconds since 1970. */
  readonly fromMs: number;
  /** Its end, which is no longer in it; wall time, milliseconds since 1970. */
  readonly untilMs: number;
  readonly reason?: string;
}

/** A time that comes every week, by the clock on the wall. */
export interface CalendarWindow {
  /** The days on which it begins; absent: every day. */
  readonly days?: readonly Weekday[];
  /** The beginning: minutes after midnight, below 1440. */
  readonly fromMinute: number;
  /** The end: minutes after midnight, 1440 at most; on the next day if it is not later than the beginning. */
  readonly toMinute: number;
  /** A name of the time zone database, such as `Europe/Zurich`. */
  readonly timeZone: string;
  readonly reason?: string;
}
