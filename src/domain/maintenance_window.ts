/** The days of the week, as the config names them, Monday first. */
export const WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

/** A day of the week. */
type Weekday = (typeof WEEKDAYS)[number];

/** A time that comes every week, by the clock on the wall, during which notifications are suppressed. */
export interface MaintenanceWindow {
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
