/** A time as HTML: in the page's zone for people, in UTC for machines. */
export type TimeText = (timeMs: number) => string;

/** Makes what writes times in a zone. One formatter serves a page: making one costs more than a thousand uses. */
export function createTimeText(timeZone: string): TimeText {
  // Swedish dates are written as ISO 8601 has them: 2026-01-31 10:00.
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
  });
  return (timeMs) =>
    `<time datetime=${new Date(timeMs).toISOString().slice(0, 16)}Z>${format.format(timeMs)}</time>`;
}

/** The zone's distance from UTC at a time, such as `UTC+1` or `UTC`. */
export function zoneOffset(timeZone: string, timeMs: number): string {
  const parts = new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "shortOffset" }).formatToParts(
    timeMs,
  );
  return (parts.find(({ type }) => type === "timeZoneName")?.value ?? "GMT").replace("GMT", "UTC");
}
