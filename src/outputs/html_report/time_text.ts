import { type Markup, markup } from "../markup.ts";

export type TimeText = (timeMs: number) => Markup;

/** A time in the page's zone, such as `2026-01-31 10:00`. */
export type PlainTime = (timeMs: number) => string;

/**
 * Returns a function that formats times in a zone. One formatter serves a page: creating one costs more than a
 * thousand uses.
 */
export function createPlainTime(timeZone: string): PlainTime {
  // Swedish dates are written as ISO 8601 has them: 2026-01-31 10:00.
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
  });
  return (timeMs) => format.format(timeMs);
}

/** Returns a function that formats the same as HTML. */
export function toTimeText(plainTime: PlainTime): TimeText {
  return (timeMs) => markup`<time>${plainTime(timeMs)}</time>`;
}

/** The zone's distance from UTC at a time, such as `UTC+1` or `UTC`. */
export function zoneOffset(timeZone: string, timeMs: number): string {
  const parts = new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "shortOffset" }).formatToParts(
    timeMs,
  );
  return (parts.find(({ type }) => type === "timeZoneName")?.value ?? "GMT").replace("GMT", "UTC");
}
