/** Maintenance windows and `hours`: reading them, and the rules that the schema can't express. Loaded if a config has one. */
import {
  beginsOn,
  type CalendarWindow,
  type DayRange,
  type LocalDate,
  type MaintenanceWindow,
  WEEKDAYS,
} from "../domain/schedule.ts";
import { channelEntries, ownersOf } from "./channel_uses.ts";
import { minuteOfDay, parseInterval } from "./quantities.ts";
import { isPlaceholder } from "./placeholders.ts";
import { type ConfigPath, type Problem, quoteValue } from "./problem.ts";
import { type CreateCronTimes, timesOf } from "./schedules.ts";
import { DAY_MS } from "../shared/time_units.ts";
import { childOf, isObject, valueAt } from "./schema_view.ts";
import type { JsonObject } from "./syntax.ts";
import type { Window } from "../domain/generated/config.ts";

interface WindowsFile {
  /** With its placeholders replaced. */
  readonly value: JsonObject;
  readonly written: JsonObject;
  isUnresolved(path: ConfigPath): boolean;
}

interface RuleOptions {
  readonly timeZone: string;
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
  readonly createCronTimes: CreateCronTimes | null;
}

interface WindowFindings {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

export function validateWindows(file: WindowsFile, options: RuleOptions): WindowFindings {
  const lists = windowLists(file.written);
  const tooLong = lists.filter(({ windows }) => windows.length > WINDOWS_MAX).map(({ path, windows }) => (
    { path, message: `has ${windows.length} windows, expected at most ${WINDOWS_MAX}` }
  ));
  if (tooLong.length > 0) return { problems: tooLong, warnings: [] };
  const found = lists.flatMap(({ path, windows }) =>
    windows.map((window, index) =>
      isObject(window) ? validateWindow(window, { file, path: [...path, index], options }) : NOTHING
    )
  );
  return {
    problems: found.flatMap(({ problems }) => problems),
    warnings: found.flatMap(({ warnings }) => warnings),
  };
}

const NOTHING: WindowFindings = { problems: [], warnings: [] };

/** No calendar needs more, and each check goes through all of them for each notification. */
const WINDOWS_MAX = 1000;

function windowLists(written: JsonObject) {
  const paths: readonly ConfigPath[] = [
    ...[[], ...ownersOf(written)].map((path) => [...path, "maintenance_windows"]),
    ...channelEntries(written).map(({ path }) => [...path, "hours"]),
  ];
  return paths.flatMap((path) => {
    const windows = valueAt(written, path);
    return Array.isArray(windows) ? [{ path, windows }] : [];
  });
}

interface Place {
  readonly file: WindowsFile;
  readonly path: ConfigPath;
  readonly options: RuleOptions;
}

function validateWindow(written: JsonObject, place: Place): WindowFindings {
  const form = formOf(written);
  const misplaced = findMisplacedKeys(written, form, place.path);
  if (misplaced.length > 0) return { problems: misplaced, warnings: [] };
  const problems = [...daysProblems(place), ...form.problems(place)];
  return { problems, warnings: problems.length > 0 ? [] : form.warnings(place) };
}

interface WindowForm {
  readonly required: readonly string[];
  readonly others?: readonly string[];
  readonly problems: Rule;
  readonly warnings: Rule;
}

type Rule = (place: Place) => readonly Problem[];

const CALENDAR: WindowForm = {
  ...{ required: ["from", "to"], others: ["days", "days_of_month", "months"] },
  ...{ problems: calendarProblems, warnings: calendarWarnings },
};
const ONCE: WindowForm = { required: ["from", "until"], problems: onceProblems, warnings: onceWarnings };
const CRON: WindowForm = { required: ["cron", "duration"], problems: () => [], warnings: cronWarnings };
const KEYS = new Set([CALENDAR, ONCE, CRON].flatMap(({ required, others = [] }) => [...required, ...others]));

function formOf(window: JsonObject): WindowForm {
  if ("cron" in window || "duration" in window) return CRON;
  if ("until" in window) return ONCE;
  const { from } = window;
  return !("to" in window) && typeof from === "string" && /^\d{4}-/.test(from) ? ONCE : CALENDAR;
}

function findMisplacedKeys(window: JsonObject, form: WindowForm, path: ConfigPath): readonly Problem[] {
  const { required, others = [] } = form;
  const other = Object.keys(window).find((key) => KEYS.has(key) && ![...required, ...others].includes(key));
  if (other !== undefined) {
    const given = required.find((key) => key !== "from" && key in window) ?? required[1];
    const message = `cannot be used with "${given}"`;
    return [{ path: [...path, other], at: "name", message, hint: FORMS }];
  }
  const missing = required.filter((key) => !(key in window));
  if (missing.length === 0) return [];
  const keys = missing.map((key) => `"${key}"`).join(" and ");
  const message = `missing ${missing.length === 1 ? "key" : "keys"} ${keys}`;
  return [{ path, message, hint: missing.length > 1 ? FORMS : undefined }];
}

const FORMS = 'a window has "from" and "to", "from" and "until", or "cron" and "duration"';

/** The text of a key; `null`: it is none, or its placeholder is unresolved. */
function textAt({ file, path }: Place, key: string): string | null {
  const value = valueAt(file.value, [...path, key]);
  return typeof value === "string" && !file.isUnresolved([...path, key]) ? value : null;
}

/** A problem of a key, which quotes it as it is written. */
function problemAt({ file, path }: Place, keys: ConfigPath, message: string, hint?: string): Problem {
  const place = [...path, ...keys];
  const written = valueAt(file.written, place) ?? null;
  return {
    path: place,
    message: message.replace("VALUE", () => quoteValue(written)),
    ...isPlaceholder(written) && { isLack: true },
    hint,
  };
}

function daysProblems(place: Place): readonly Problem[] {
  const items = valueAt(place.file.value, [...place.path, "days_of_month"]);
  if (!Array.isArray(items)) return [];
  return items.flatMap((item, index): readonly Problem[] => {
    const keys = ["days_of_month", index];
    if (place.file.isUnresolved([...place.path, ...keys])) return [];
    if (typeof item !== "string" && !Number.isInteger(item)) return [];
    const range = readDays(item);
    if (range === null) {
      return [problemAt(place, keys, `VALUE is not a day of the month, expected 1 to 31, ${DAYS_FORMS}`)];
    }
    const isReversed = range.from > range.to && range.from > 0 === range.to > 0;
    const hint = `did you mean "${range.to}:${range.from}"?`;
    return isReversed ? [problemAt(place, keys, "VALUE ends before it begins", hint)] : [];
  });
}

const DAYS_FORMS = 'from the end -1 to -31, or a range such as "1:7" or "-7:-1"';

/** A window from a time to the same time would last a whole day, which is more likely a slip. */
function calendarProblems(place: Place): readonly Problem[] {
  const from = textAt(place, "from");
  if (from === null) return [];
  const minute = minuteOfDay(from);
  if (minute === null || minute === 24 * 60) {
    const message = 'VALUE is not a time of day, expected one from "00:00" to "23:59"';
    const hint = /^\d{4}-/.test(from) ? 'end a window that comes once with "until"' : undefined;
    return [problemAt(place, ["from"], message, hint)];
  }
  if (textAt(place, "to") !== from) return [];
  const message = 'is VALUE as "from" is, expected another time';
  return [problemAt(place, ["to"], message, 'for whole days: from "00:00" to "24:00"')];
}

function calendarWarnings(place: Place): readonly Problem[] {
  const window = calendarAt(place);
  if (!allDays().some((date) => beginsOn(window, date))) {
    return [{ path: place.path, message: "never opens: no such day comes" }];
  }
  const isWhole = textAt(place, "from") === "00:00" && textAt(place, "to") === "24:00";
  if (!isWhole || !allDays().every((date) => beginsOn(window, date))) return [];
  return [{ path: place.path, message: ALWAYS }];
}

const ALWAYS = "covers all the time";

function calendarAt({ file, path }: Place): Pick<CalendarWindow, "days" | "daysOfMonth" | "months"> {
  const listAt = <T>(key: string): T[] | undefined => {
    const list = valueAt(file.value, [...path, key]);
    return Array.isArray(list) ? list as T[] : undefined;
  };
  const daysOfMonth = listAt<unknown>("days_of_month")?.flatMap((item) => readDays(item) ?? []);
  const days = listAt<typeof WEEKDAYS[number]>("days");
  const months = listAt<NonNullable<CalendarWindow["months"]>[number]>("months");
  return {
    ...days !== undefined && { days },
    ...months !== undefined && { months },
    ...daysOfMonth !== undefined && { daysOfMonth },
  };
}

/** The days of 28 years, in which each date is on each day of the week. */
function* allDays(): Generator<LocalDate> {
  for (let dayMs = Date.UTC(2000, 0, 1); dayMs < Date.UTC(2028, 0, 1); dayMs += DAY_MS) {
    const date = new Date(dayMs);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    yield {
      dayOfWeek: (date.getUTCDay() + 6) % 7 + 1,
      day: date.getUTCDate(),
      month: month + 1,
      daysInMonth: new Date(Date.UTC(year, month + 1, 0)).getUTCDate(),
    };
  }
}

function timeAt(place: Place, key: "from" | "until"): number | null {
  const text = textAt(place, key);
  const timeZone = textAt(place, "time_zone") ?? place.options.timeZone;
  return text === null ? null : readTime(text, { timeZone, edge: key });
}

function onceProblems(place: Place): readonly Problem[] {
  const wrong = (["from", "until"] as const).filter((key) =>
    textAt(place, key) !== null && timeAt(place, key) === null
  );
  if (wrong.length > 0) {
    return wrong.map((key) => {
      const isDaily = minuteOfDay(textAt(place, key) ?? "") !== null;
      const hint = isDaily && key === "until" ? 'end a window of every day with "to"' : undefined;
      return problemAt(place, [key], `VALUE is not a time, expected one such as ${TIME_FORMS}`, hint);
    });
  }
  const [fromMs, untilMs] = [timeAt(place, "from"), timeAt(place, "until")];
  if (fromMs === null || untilMs === null || fromMs < untilMs) return [];
  return [problemAt(place, ["until"], 'is VALUE, expected a time after "from"')];
}

const TIME_FORMS = '"2026-12-24T18:00", "2026-12-24" or "2026-12-24T18:00+01:00"';

function onceWarnings(place: Place): readonly Problem[] {
  const untilMs = timeAt(place, "until");
  if (untilMs === null || untilMs > place.options.nowMs) return [];
  return [problemAt(place, ["until"], "is VALUE, which is past: the window never opens again")];
}

/** More than a day of begins a minute; each costs a tenth of a millisecond. */
const TIMES_MAX = 1500;
const YEAR_MS = 366 * DAY_MS;
/** Expressions without a condition for the day. */
const EVERY_DAY = /^\s*\S+\s+\S+\s+\*\s+\*\s+\*\s*$/;

function cronWarnings(place: Place): readonly Problem[] {
  const { file, path, options } = place;
  const expression = textAt(place, "cron");
  const duration = childOf(valueAt(file.value, path), "duration");
  if (expression === null || typeof duration !== "number" && typeof duration !== "string") return [];
  const interval = parseInterval(duration);
  const times = readCron(expression, options);
  if (!("ms" in interval) || times === null) return [];
  const firstMs = times.after(options.nowMs);
  let lastMs = firstMs;
  for (let count = 0; count < TIMES_MAX; count++) {
    const nextMs = times.after(lastMs);
    if (nextMs - lastMs > interval.ms) return [];
    lastMs = nextMs;
  }
  return EVERY_DAY.test(expression) || lastMs - firstMs > YEAR_MS ? [{ path, message: ALWAYS }] : [];
}

/** An invalid expression is an error elsewhere. */
function readCron(expression: string, { createCronTimes }: RuleOptions): ReturnType<CreateCronTimes> {
  try {
    return createCronTimes?.(expression, "UTC") ?? null;
  } catch {
    return null;
  }
}

/** Reads a window. With an unresolved placeholder it never opens. */
export function readWindow(
  written: Window,
  options: { readonly timeZone: string; readonly createCronTimes: CreateCronTimes },
): MaintenanceWindow {
  const { from = "", until, cron, days, months, daysOfMonth, reason } = written;
  const timeZone = written.timeZone ?? options.timeZone;
  const common = reason === undefined ? {} : { reason };
  if (isUnresolved(written)) return { ...common, fromMs: NaN, untilMs: NaN };
  if (cron !== undefined) {
    const times = timesOf(cron, timeZone, options.createCronTimes);
    return { ...common, times, durationMs: written.durationMs ?? NaN };
  }
  if (until !== undefined) {
    const fromMs = readTime(from, { timeZone, edge: "from" }) ?? NaN;
    return { ...common, fromMs, untilMs: readTime(until, { timeZone, edge: "until" }) ?? NaN };
  }
  return {
    ...common,
    ...days !== undefined && { days },
    ...months !== undefined && { months },
    ...daysOfMonth !== undefined && { daysOfMonth: daysOfMonth.flatMap((item) => readDays(item) ?? []) },
    fromMinute: minuteOfDay(from) ?? NaN,
    toMinute: written.toMinute ?? NaN,
    timeZone,
  };
}

function isUnresolved({ reason: _reason, ...window }: Window): boolean {
  const values = Object.values(window).flat();
  return values.some((value) => Number.isNaN(value) || String(value).includes("${"));
}

/** Reads an item of `days_of_month`; `null`: it is none, such as an object. */
function readDays(item: unknown): DayRange | null {
  if (typeof item !== "number" && typeof item !== "string") return null;
  const [, from, to] = /^(-?\d{1,2}):(-?\d{1,2})$/.exec(String(item)) ?? [];
  const range = { from: Number(from ?? item), to: Number(to ?? item) };
  const isDay = (day: number): boolean => Number.isInteger(day) && day !== 0 && Math.abs(day) <= 31;
  return isDay(range.from) && isDay(range.to) ? range : null;
}

const FORM = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(Z|[+-]\d\d:\d\d)?)?$/;

/**
 * Reads a date, or a date and time, as milliseconds since 1970; `null`: it is none, such as February 30. A time that a
 * DST change skips is the time of the change. Of a repeated time, a window begins with the first and ends with the second.
 */
export function readTime(
  text: string,
  { timeZone, edge }: { readonly timeZone: string; readonly edge: "from" | "until" },
): number | null {
  const [, date, time = "00:00", offset] = FORM.exec(text) ?? [];
  if (date === undefined) return null;
  try {
    if (offset !== undefined) return Temporal.Instant.from(`${date}T${time}${offset}`).epochMilliseconds;
    const shown = Temporal.PlainDateTime.from(`${date}T${time}`);
    const [earlier, later] = [
      shown.toZonedDateTime(timeZone, { disambiguation: "earlier" }),
      shown.toZonedDateTime(timeZone, { disambiguation: "later" }),
    ];
    const exists = earlier.toPlainDateTime().equals(shown);
    const at = exists ? edge === "from" ? earlier : later : earlier.getTimeZoneTransition("next") ?? later;
    return at.epochMilliseconds;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
