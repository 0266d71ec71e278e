/** Returns a wall time as `Mon 03-02 22:10:05.120` in a time zone. */
export function formatTime(atMs: number, zone: string): string {
  const time = zoned(atMs, zone);
  const text = time.toPlainDateTime().toString({ smallestUnit: "millisecond" });
  return `${WEEKDAYS[time.dayOfWeek - 1]} ${text.slice(5, 10)} ${text.slice(11)}`;
}

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const;

export function zoned(atMs: number, zone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(Math.floor(atMs)).toZonedDateTimeISO(zone);
}

/** Parses `2026-03-02T21:55` or `2026-03-02 21:55` in a time zone, or a time in UTC that ends in `Z`. */
export function parseStart(text: string, zone: string): number {
  if (text.endsWith("Z")) return Temporal.Instant.from(text).epochMilliseconds;
  return Temporal.PlainDateTime.from(text.replace(" ", "T")).toZonedDateTime(zone).epochMilliseconds;
}

/** A time of day, which may name its day: `22:10`, `22:10:30`, `Tue 22:10`, `2026-03-03 22:10`, `03-03 22:10`. */
const TIME = /^(?:(?:(\d{4})-)?(\d\d)-(\d\d) |(Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(\d\d):(\d\d)(?::(\d\d))?$/;

/**
 * Returns the first moment with a time of day that is not before another one; `null` if it is none. So in a list of times
 * each is later than the one before, and the day needs to be named only if more than a day passes.
 */
export function timeAfter(text: string, afterMs: number, zone: string): number | null {
  const [found, year, month, day, weekday, hour = "", minute = "", second = "0"] = TIME.exec(text) ?? [];
  if (found === undefined) return null;
  const plain = { hour: Number(hour), minute: Number(minute), second: Number(second) };
  const after = zoned(afterMs, zone);
  if (month !== undefined && day !== undefined) {
    const date = { year: Number(year ?? after.year), month: Number(month), day: Number(day) };
    return Temporal.ZonedDateTime.from({ ...date, ...plain, timeZone: zone }).epochMilliseconds;
  }
  for (let days = 0; days <= 7; days++) {
    const date = after.toPlainDate().add({ days });
    if (weekday !== undefined && WEEKDAYS[date.dayOfWeek - 1] !== weekday) continue;
    const { epochMilliseconds } = date.toZonedDateTime({
      timeZone: zone,
      plainTime: Temporal.PlainTime.from(plain),
    });
    if (epochMilliseconds >= afterMs) return epochMilliseconds;
  }
  return null;
}
