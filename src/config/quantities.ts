/** The amounts of a config: intervals, durations, sizes, limits, objectives and times of day. */
import type { Limit, MessageLimit, Objective } from "../domain/limits.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../shared/time_units.ts";
import { quoteValue } from "./problem.ts";
import { parseRange } from "../shared/decimal.ts";
import type { FormatValues } from "../domain/generated/config.ts";
import { absolutePath } from "./source.ts";
import type { SchemaView } from "./schema_view.ts";
import type { JsonValue } from "./syntax.ts";

/** An amount, or the error; those of exported functions have the accepted forms. */
type Parsed<Amount> = Readonly<Amount> | { readonly problem: string };

/** Each unit by its abbreviations and by its word, whose plural is accepted as well. */
const UNITS_MS: ReadonlyMap<string, number> = new Map([
  ["ms", 1],
  ...Object.entries({
    "s second": SECOND_MS,
    "m min minute": MINUTE_MS,
    "h hour": HOUR_MS,
    "d day": DAY_MS,
    "w week": 7 * DAY_MS,
    "millisecond": 1,
  }).flatMap(([names, ms]) =>
    [...names.split(" "), `${names.split(" ").at(-1)}s`].map((name) => [name, ms] as const)
  ),
]);

const TERM = /(\d+(?:\.\d+)?)?\s*([a-z]+)\s*/giy;

/** Adds up terms such as `1 hour 30 min`, each with a unit. Short ones may have fractions and milliseconds. */
function addUpTerms(text: string, isShort: boolean): Parsed<{ ms: number }> {
  const terms = text.trim();
  if (terms === "") return { problem: "is empty" };
  let ms = 0;
  TERM.lastIndex = 0;
  while (TERM.lastIndex < terms.length) {
    const rest = terms.slice(TERM.lastIndex);
    const [, count = "1", unit = ""] = TERM.exec(terms) ?? [];
    const unitMs = UNITS_MS.get(unit.toLowerCase());
    if (unitMs === undefined) return { problem: explainTerm(rest, unit, isShort) };
    if (!isShort && count.includes(".")) return { problem: "has a fraction" };
    if (!isShort && unitMs < SECOND_MS) {
      return { problem: `has the unit ${quoteValue(unit)}, expected seconds or longer units` };
    }
    if (Number(count) === 0) return { problem: "has a count of zero" };
    ms += Number(count) * unitMs;
  }
  return { ms };
}

/** Other common forms; they are rejected, so that an interval is written the same way everywhere. */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  sec: "seconds",
  secs: "seconds",
  mins: "minutes",
  hr: "hours",
  hrs: "hours",
  month: "30 days",
  months: "days",
};

function explainTerm(rest: string, unit: string, isShort: boolean): string {
  if (/^[+-]/.test(rest)) return "has a sign";
  if (/^\d*[.,]\d/.test(rest)) return isShort ? "has a malformed fraction" : "has a fraction";
  if (/^\d+\s*$/.test(rest)) return "has a count without a unit";
  if (unit === "") return "is not a length of time";
  const meant = ABBREVIATIONS[unit.toLowerCase()];
  const hint = meant === undefined ? "" : ` (did you mean "${meant}"?)`;
  return `has the unknown unit ${quoteValue(unit)}${hint}`;
}

function refuse(problem: string, forms: string): { readonly problem: string } {
  return { problem: `${problem}, expected ${forms}` };
}

export const INTERVAL_MS_MAX = 100 * 365 * DAY_MS;
const INTERVAL_TEXTS = 'text such as "5 minutes" or "1 h 30 min"';
/** The accepted form, for messages; so are the others. */
export const INTERVAL_FORMS: string = `whole seconds from 1 on, or ${INTERVAL_TEXTS}`;

/** Parses an interval of the config: whole seconds, or a sum of terms with an optional count and a unit. */
export function parseInterval(value: number | string): Parsed<{ ms: number }> {
  if (typeof value === "string") return parseIntervalText(value, INTERVAL_FORMS);
  const parsed = Number.isInteger(value) ? { ms: value * 1000 } : { problem: "is not a whole number" };
  return bounded(parsed, INTERVAL_FORMS);
}

/** Reads an interval of the command line: the same texts, and no bare number. */
export function parseIntervalText(text: string, forms: string = INTERVAL_TEXTS): Parsed<{ ms: number }> {
  return bounded(addUpTerms(text, false), forms);
}

function bounded(parsed: Parsed<{ ms: number }>, forms: string): Parsed<{ ms: number }> {
  if ("problem" in parsed) return refuse(parsed.problem, forms);
  if (parsed.ms < SECOND_MS) return refuse("is shorter than one second", forms);
  if (parsed.ms <= INTERVAL_MS_MAX) return parsed;
  return { problem: "is longer than a hundred years, expected at most that" };
}

export const DURATION_MS_MAX = HOUR_MS;
export const DURATION_FORMS = 'seconds above 0 up to an hour, or text such as "500 ms" or "1.5 seconds"';
/** Smaller fractions are lost in floating-point arithmetic. */
const NANOSECONDS_PER_MS = 1e6;

/** Parses a duration: seconds, or a sum of terms with an optional count and a unit. Counts may have fractions. */
export function parseDuration(value: number | string): Parsed<{ ms: number }> {
  const parsed = typeof value === "number" ? { ms: value * 1000 } : addUpTerms(value, true);
  if ("problem" in parsed) return refuse(parsed.problem, DURATION_FORMS);
  const ms = Math.round(parsed.ms * NANOSECONDS_PER_MS) / NANOSECONDS_PER_MS;
  if (!(ms > 0)) return refuse("is not above 0", DURATION_FORMS);
  return ms > DURATION_MS_MAX ? refuse("is longer than an hour", DURATION_FORMS) : { ms };
}

export const OBJECTIVE_FORMS = 'a percentage such as "99.9 %", "99.9 % a month" or "99.5 % per 7 days"';
const OBJECTIVE = /^(\d{1,3}(?:\.\d{1,6})?)\s*%(?:\s+(?:an?|per|in|over)\s+(.+))?$/i;
/** A month of every length has about the same error budget. */
const MONTH_MS = 30 * DAY_MS;
/** Daily sums are kept somewhat longer. */
const WINDOW_MS_MAX = 90 * DAY_MS;

/** Parses an objective; its time is a month of 30 days if the text has none. */
export function parseObjective(text: string): Parsed<Objective> {
  const [, digits, time = "month"] = OBJECTIVE.exec(text.trim()) ?? [];
  if (digits === undefined) return refuse("is not an objective", OBJECTIVE_FORMS);
  const percent = Number(digits);
  if (percent <= 0 || percent > 100) return refuse("is not above 0 % and at most 100 %", OBJECTIVE_FORMS);
  const interval = /^month$/i.test(time.trim()) ? { ms: MONTH_MS } : parseInterval(time);
  if ("problem" in interval) return refuse("has no time such as a month, a week or 7 days", OBJECTIVE_FORMS);
  if (interval.ms < DAY_MS || interval.ms > WINDOW_MS_MAX) {
    return refuse("has a time outside of 1 to 90 days, for which history is kept", OBJECTIVE_FORMS);
  }
  return { percent, windowMs: interval.ms };
}

export const RETENTION_FORMS = '1 to 400 days, such as "90 days"';
const RETENTION_MS_MAX = 400 * DAY_MS;

/** Parses how long results are stored. A day at least: pruning trusts no clock that is a day ahead. */
export function parseRetention(value: number | string): Parsed<{ ms: number }> {
  const interval = parseInterval(value);
  if ("problem" in interval) return refuse("is not an interval", RETENTION_FORMS);
  if (interval.ms < DAY_MS) return refuse("is shorter than a day", RETENTION_FORMS);
  return interval.ms <= RETENTION_MS_MAX ? interval : refuse("is longer than 400 days", RETENTION_FORMS);
}

export const MESSAGE_LIMIT_FORMS = '1 to 1000 per minute, hour or day, such as "20 per hour"';
const MESSAGE_LIMIT = /^(\d{1,9})\s+(?:per|an?)\s+(minute|hour|day)$/i;

export function parseMessageLimit(text: string): Parsed<MessageLimit> {
  const [, digits, unit = ""] = MESSAGE_LIMIT.exec(text.trim()) ?? [];
  const windowMs = UNITS_MS.get(unit.toLowerCase());
  const count = Number(digits);
  return windowMs !== undefined && count >= 1 && count <= 1000
    ? { count, windowMs }
    : refuse("is not a limit", MESSAGE_LIMIT_FORMS);
}

export const SIZE_FORMS = 'whole bytes, or text such as "10 MB" or "1.5 GiB"';

const UNITS_BYTES: ReadonlyMap<string, number> = new Map(
  ["", "k", "m", "g", "t", "p"].flatMap((prefix, index) => [
    [`${prefix}b`, 1000 ** index] as const,
    [`${prefix}ib`, 1024 ** index] as const,
  ]).filter(([name]) => name !== "ib"),
);

const SIZE = /^(\d{1,15}(?:\.\d{1,9})?)\s*([a-z]{1,3})$/i;

/** Parses a size of the config as whole bytes. */
export function parseSize(value: number | string): Parsed<{ bytes: number }> {
  const [, count, unit = ""] = SIZE.exec(String(value).trim()) ?? [];
  const bytes = typeof value === "number"
    ? value
    : Math.round(Number(count) * (UNITS_BYTES.get(unit.toLowerCase()) ?? NaN));
  if (Number.isNaN(bytes)) return refuse("is not a size", SIZE_FORMS);
  if (!Number.isSafeInteger(bytes)) {
    return refuse(bytes < 1e15 ? "is not a whole number" : "is too large", SIZE_FORMS);
  }
  return bytes < 0 ? refuse("is negative", SIZE_FORMS) : { bytes };
}

export const LIMIT_FORMS = {
  size_or_percentage: `${SIZE_FORMS}, or a percentage such as "5%"`,
  count_or_percentage: 'a whole number, or a percentage such as "5%"',
} as const;

export type LimitFormat = keyof typeof LIMIT_FORMS;

export function parseLimit(value: number | string, format: LimitFormat): Parsed<{ limit: Limit }> {
  if (typeof value === "number") return { limit: value };
  const percent = /^(\d{1,9}(?:\.\d{1,9})?)\s*%$/.exec(value.trim())?.[1];
  if (Number(percent) > 100) return refuse("is more than 100%", LIMIT_FORMS[format]);
  if (percent !== undefined) return { limit: { percent: Number(percent) } };
  const size = format === "size_or_percentage" ? parseSize(value) : null;
  return size && "bytes" in size ? { limit: size.bytes } : refuse("is not a limit", LIMIT_FORMS[format]);
}

/** A time of day such as `06:30`, including `24:00`, as minutes after midnight; `null` if the text is none. */
export function minuteOfDay(text: string): number | null {
  const [, hour, minute] = /^(\d\d):([0-5]\d)$/.exec(text) ?? [];
  const minutes = Number(hour) * 60 + Number(minute);
  return minutes <= 24 * 60 ? minutes : null;
}

// The resolved values of formats: milliseconds, bytes, absolute paths and the like.

export interface ConversionOptions {
  /** The directory of relative paths, absolute. */
  readonly directory: string;
  /** Absolute paths of the commands without a slash. */
  readonly commands: ReadonlyMap<string, string>;
}

/** The units of formats, for the ends of names. */
const UNITS: Readonly<Record<string, string>> = {
  duration: "Ms",
  interval: "Ms",
  retention: "Ms",
  time_of_day: "Minute",
  size: "Bytes",
};

/** The name of a key once it is resolved: in camel case, with its unit. */
export function resolvedName(name: string, { format, types }: Pick<SchemaView, "format" | "types">): string {
  const unit = types.includes("boolean") ? "" : UNITS[format ?? ""] ?? "";
  return name.replace(/_(\w)/g, (_match, letter: string) => letter.toUpperCase()) + unit;
}

type Conversion<Value> = (value: string | number, options: ConversionOptions) => Value;

/**
 * The conversions of formats, for texts and numbers. The other formats only describe a text. What can't be read in a
 * valid config is an unresolved placeholder.
 */
const CONVERSIONS: { readonly [Format in keyof FormatValues]: Conversion<FormatValues[Format]> } = {
  duration: (value) => ({ ms: NaN, ...parseDuration(value) }).ms,
  interval: (value) => ({ ms: NaN, ...parseInterval(value) }).ms,
  retention: (value) => ({ ms: NaN, ...parseRetention(value) }).ms,
  path: (value, options) => absolutePath(String(value), options.directory),
  input_file: (value, options) => absolutePath(String(value), options.directory),
  range: (value) => parseRange(String(value)) ?? { text: "", from: null, to: null, isInverted: false },
  size: (value) => ({ bytes: NaN, ...parseSize(value) }).bytes,
  size_or_percentage: (value) => ({ limit: NaN, ...parseLimit(value, "size_or_percentage") }).limit,
  count_or_percentage: (value) => ({ limit: NaN, ...parseLimit(value, "count_or_percentage") }).limit,
  objective: (value) => ({ percent: NaN, windowMs: NaN, ...parseObjective(String(value)) }),
  // Without a value for its placeholder, the channel sends nothing.
  message_limit: (value) => ({ count: NaN, windowMs: NaN, ...parseMessageLimit(String(value)) }),
  time_of_day: (value) => minuteOfDay(String(value)) ?? NaN,
  command: (value, options) =>
    options.commands.get(String(value)) ?? absolutePath(String(value), options.directory),
};

const BY_FORMAT: Readonly<Record<string, Conversion<unknown>>> = CONVERSIONS;

export function convertValue(value: JsonValue, format = "", options: ConversionOptions): unknown {
  const convert = BY_FORMAT[format];
  return typeof value === "string" || typeof value === "number" ? convert?.(value, options) ?? value : value;
}
