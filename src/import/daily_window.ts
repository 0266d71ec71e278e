import type * as written from "../domain/generated/written_config.ts";
import { asWord } from "./foreign_value.ts";

type Day = NonNullable<written.Window["days"]>[number];

const MINUTES_OF_DAY = 24 * 60;

/** A window that begins at a time of day, on some days, and lasts so long. `null` if it does not fit a weekly one. */
export function maintenanceWindow(
  { start, durationMs, days, timeZone }: {
    /** `hh:mm` */
    readonly start: string;
    readonly durationMs: number;
    /** Names of days; empty: every day. */
    readonly days: readonly string[];
    readonly timeZone: string | undefined;
  },
): written.Window | null {
  const [, hours, minutes] = /^(\d{1,2}):(\d{2})$/.exec(start) ?? [];
  const lastsMinutes = Math.round(durationMs / 60_000);
  if (hours === undefined || lastsMinutes < 1 || lastsMinutes >= MINUTES_OF_DAY) return null;
  const startMinute = Number(hours) * 60 + Number(minutes);
  const names = days.map((day) => asWord<Day>(day.slice(0, 3).toLowerCase()));
  return {
    ...(names.length > 0 && { days: names }),
    from: timeOfDay(startMinute),
    to: timeOfDay(startMinute + lastsMinutes),
    ...(timeZone !== undefined && { time_zone: timeZone }),
  };
}

/** Writes a minute as `hh:mm`; one of the next day counts from its midnight. */
export function timeOfDay(minute: number): string {
  const inDay = minute % MINUTES_OF_DAY;
  return `${String(Math.floor(inDay / 60)).padStart(2, "0")}:${String(inDay % 60).padStart(2, "0")}`;
}
