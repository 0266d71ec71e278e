/** Texts of scenarios: local times, each later than the one before it, and messages. */
import { parseIntervalText } from "../config/quantities.ts";
import { MINUTE_MS, SECOND_MS } from "../shared/time_units.ts";
import type { MessageItem } from "../domain/delivery.ts";
import { isStandalone } from "../domain/outbox.ts";

export const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const;

export function zoned(atMs: number, zone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(Math.floor(atMs)).toZonedDateTimeISO(zone);
}

/** Parses `2026-03-02T21:55` or `2026-03-02 21:55` in a time zone, or a time in UTC that ends in `Z`. */
export function parseStart(text: string, zone: string): number {
  if (text.endsWith("Z")) return Temporal.Instant.from(text).epochMilliseconds;
  return Temporal.PlainDateTime.from(text.replace(" ", "T")).toZonedDateTime(zone).epochMilliseconds;
}

const DAY = String.raw`(?:[A-Z][a-z]{2}|(?:\d{4}-)?\d\d-\d\d|\+\d+d)`;
const CLOCK = String.raw`\d\d:\d\d(?::\d\d)?(?: [+-]\d\d:\d\d)?`;
const TIME = String.raw`(?:${DAY} )?${CLOCK}|\+\d+[a-z]+`;
const SPAN = new RegExp(`^(${TIME})(?:-((?:${DAY} )?${CLOCK}))?(?:\\s+(.*))?$`, "s");
const PARTS =
  /^(?:(?:(?:(\d{4})-)?(\d\d)-(\d\d)|\+(\d+)d|(Mon|Tue|Wed|Thu|Fri|Sat|Sun)) )?(\d\d):(\d\d)(?::(\d\d))?(?: ([+-]\d\d:\d\d))?$/;

/**
 * Returns the first moment with a time of day that is not before another one; `null` if it is none. So in a list of times
 * each is later than the one before, and the day needs to be named only if more than a day passes: `22:10`, `22:10:30`,
 * `Tue 22:10`, `2026-03-03 22:10`, `03-03 22:10`, `+2d 22:10`, or `+90min` after the one before. Of an hour that a change
 * from summer time repeats, it is the first moment that is not before the other one, or that with its distance from UTC,
 * `02:30 +01:00`.
 */
export function timeAfter(text: string, afterMs: number, zone: string): number | null {
  if (/^\+\d+[a-z]+$/.test(text)) {
    const interval = parseIntervalText(text.slice(1));
    return "ms" in interval ? afterMs + interval.ms : null;
  }
  const [found, year, month, day, days, weekday, hour, minute, second = "0", offset] = PARTS.exec(text) ?? [];
  if (found === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null;
  const plainTime = new Temporal.PlainTime(Number(hour), Number(minute), Number(second));
  const after = zoned(afterMs, zone);
  const timesOf = (date: Temporal.PlainDate): readonly number[] => {
    const plain = date.toPlainDateTime(plainTime);
    if (offset !== undefined) return [Temporal.Instant.from(`${plain}${offset}`).epochMilliseconds];
    return (["compatible", "later"] as const).map((disambiguation) =>
      plain.toZonedDateTime(zone, { disambiguation }).epochMilliseconds
    );
  };
  const notBefore = (date: Temporal.PlainDate): number | undefined =>
    timesOf(date).find((ms) => ms >= afterMs);
  const at = (date: Temporal.PlainDate): number | null => notBefore(date) ?? timesOf(date)[0] ?? null;
  if (days !== undefined) return at(after.toPlainDate().add({ days: Number(days) }));
  if (month !== undefined && day !== undefined) {
    const fields = { year: Number(year ?? after.year), month: Number(month), day: Number(day) };
    const monthDays =
      Temporal.PlainYearMonth.from({ ...fields, month: Math.min(12, fields.month) }).daysInMonth;
    return fields.month > 12 || fields.day < 1 || fields.day > monthDays
      ? null
      : at(Temporal.PlainDate.from(fields));
  }
  for (let ahead = 0; ahead <= 7; ahead++) {
    const date = after.toPlainDate().add({ days: ahead });
    if (weekday !== undefined && WEEKDAYS[date.dayOfWeek - 1] !== weekday) continue;
    const atMs = notBefore(date);
    if (atMs !== undefined) return atMs;
  }
  return null;
}

/** A text that began with a time, or a span of time. */
export interface TimedText {
  readonly atMs: number;
  /** The end of the time, or of the span: that of its minute, or second. */
  readonly untilMs: number;
  readonly rest: string;
}

/**
 * Splits a text that begins with a time, `22:10 critical`, or with a span, `22:10-22:30 ok`; `null` if it does not, or the
 * time is not later than the one before.
 */
export function splitTime(
  text: string,
  { afterMs, zone }: { readonly afterMs: number; readonly zone: string },
): TimedText | null {
  const [, from = "", until = from, rest = ""] = SPAN.exec(text.trim()) ?? [];
  const atMs = timeAfter(from, afterMs, zone);
  const lastMs = atMs === null ? null : until === from ? atMs : timeAfter(until, atMs, zone);
  if (atMs === null || lastMs === null) return null;
  return { atMs, untilMs: lastMs + (/:\d\d:\d\d$/.test(until) ? SECOND_MS : MINUTE_MS), rest };
}

/** The time of a message as an expectation has it, no longer than needed to name its moment after another one. */
export function clockText(atMs: number, afterMs: number, zone: string): string {
  const shown = zoned(atMs, zone);
  const time = shown.toPlainTime().toString().slice(0, 5);
  const day = WEEKDAYS[shown.dayOfWeek - 1] ?? "";
  const texts = [time, `${time} ${shown.offset}`, `${day} ${time}`, `${day} ${time} ${shown.offset}`];
  const found = texts.find((text) => {
    const foundMs = timeAfter(text, afterMs - MINUTE_MS, zone);
    return foundMs !== null && Math.abs(foundMs - atMs) <= MINUTE_MS;
  });
  return found ?? `${shown.toPlainDate()} ${time}`;
}

/** A notification in a message, as scenarios write it. */
interface ShownItem {
  readonly event: string;
  readonly check: string;
  readonly condition: string;
  /** The condition of a problem that recovered before it was sent; absent: there is none. */
  readonly missed?: string | null;
  readonly dependents: number;
  readonly flapping: boolean;
  readonly acknowledged?: string | null;
  readonly summarized: number;
  readonly output: string;
}

/** More items than these are counted. */
const LISTED_MAX = 8;

/** Describes a message; a summary is its event, without the text. */
export function describeMessage(items: readonly MessageItem[]): string {
  return describeItems(items.map(({ notification, missedProblem, summarized }) => ({
    ...notification,
    output: notification.event,
    missed: missedProblem?.condition ?? null,
    summarized,
  })));
}

/** Returns a text such as `problem web critical`, or `recovery web ok (missed critical)`. */
export function describeNotification(
  { event, check, condition }: Pick<ShownItem, "event" | "check" | "condition">,
  missed: string | null = null,
): string {
  return `${event} ${check} ${condition}${missed === null ? "" : ` (missed ${missed})`}`;
}

/** As in `problem web critical, recovery mail ok`, or `500: 167 problem critical, 333 problem warning`. */
export function describeItems(items: readonly ShownItem[]): string {
  if (items.length <= LISTED_MAX) return items.map(describeItem).join(", ");
  const counts = [...Map.groupBy(items, ({ event, condition }) => `${event} ${condition}`)];
  return `${items.length}: ${counts.map(([words, { length }]) => `${length} ${words}`).join(", ")}`;
}

/** As in `problem web critical`, with what else is special about it in parentheses. */
function describeItem(item: ShownItem): string {
  const { event, dependents, flapping, acknowledged, missed, summarized, output } = item;
  const marks = [
    ...missed === null || missed === undefined ? [] : [`missed ${missed}`],
    ...dependents > 0 ? [`${dependents} ${dependents === 1 ? "dependent" : "dependents"}`] : [],
    ...flapping ? ["flapping"] : [],
    ...acknowledged === null || acknowledged === undefined ? [] : ["acknowledged"],
    ...summarized > 0 ? [`${summarized} summarized`] : [],
  ];
  const words = isStandalone(event) ? output : describeNotification(item);
  return `${words}${marks.length === 0 ? "" : ` (${marks.join(", ")})`}`;
}
