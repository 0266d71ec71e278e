import type * as written from "../domain/generated/written_config.ts";
import { timeOfDay } from "./daily_window.ts";
import type { NagiosObject } from "./nagios_objects.ts";

/** Days with their names here. */
const DAYS = {
  monday: "mon",
  tuesday: "tue",
  wednesday: "wed",
  thursday: "thu",
  friday: "fri",
  saturday: "sat",
  sunday: "sun",
} as const;
const MINUTES_OF_DAY = 24 * 60;
const OTHER_DIRECTIVES: readonly string[] = ["timeperiod_name", "alias", "name", "use", "register"];

/** The windows outside of a weekly time period; `null` if it has exceptions, dates or exclusions. */
export function windowsOutside(period: NagiosObject): readonly written.Window[] | null {
  return weeklyWindows(period, gapsOf);
}

/** The windows of a weekly time period; `null` if it has exceptions, dates or exclusions. */
export function windowsInside(period: NagiosObject): readonly written.Window[] | null {
  return weeklyWindows(period, (ranges) => ranges.map(spanOf));
}

function weeklyWindows(
  { directives }: NagiosObject,
  spansOf: (ranges: readonly Range[]) => readonly string[],
): readonly written.Window[] | null {
  const isWeekly = [...directives.keys()].every((key) => key in DAYS || OTHER_DIRECTIVES.includes(key));
  if (!isWeekly) return null;
  const daysBySpan = new Map<string, typeof DAYS[keyof typeof DAYS][]>();
  for (const [name, day] of Object.entries(DAYS)) {
    const ranges = readRanges(directives.get(name) ?? "");
    if (ranges === null) return null;
    for (const span of spansOf(ranges)) {
      const days = daysBySpan.get(span);
      if (days === undefined) daysBySpan.set(span, [day]);
      else days.push(day);
    }
  }
  return [...daysBySpan].map(([span, days]) => {
    const [from = "", to = ""] = span.split("-");
    return { ...(days.length < Object.keys(DAYS).length && { days }), from, to };
  });
}

type Range = readonly [from: number, to: number];

function readRanges(text: string): readonly Range[] | null {
  const ranges: Range[] = [];
  for (const range of text.split(",").map((part) => part.trim()).filter((part) => part !== "")) {
    const [, ...numbers] = /^(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})$/.exec(range) ?? [];
    const [fromHour, fromMinute, toHour, toMinute] = numbers.map(Number);
    if (
      fromHour === undefined || fromMinute === undefined || toHour === undefined || toMinute === undefined
    ) return null;
    ranges.push([fromHour * 60 + fromMinute, toHour * 60 + toMinute]);
  }
  return ranges.sort(([one], [other]) => one - other);
}

function spanOf([from, to]: Range): string {
  return `${timeOfDay(from)}-${to === MINUTES_OF_DAY ? "24:00" : timeOfDay(to)}`;
}

function gapsOf(ranges: readonly Range[]): readonly string[] {
  const gaps: string[] = [];
  let covered = 0;
  for (const [from, to] of [...ranges, [MINUTES_OF_DAY, MINUTES_OF_DAY] as const]) {
    if (from > covered) {
      gaps.push(spanOf([covered, from]));
    }
    covered = Math.max(covered, to);
  }
  return gaps;
}
