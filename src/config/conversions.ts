/** The resolved values of formats: milliseconds, bytes, absolute paths and the like. */
import { parseRange } from "../shared/decimal.ts";
import type { FormatValues } from "../domain/generated/config.ts";
import {
  minuteOfDay,
  parseDuration,
  parseInterval,
  parseLimit,
  parseMessageLimit,
  parseObjective,
  parseRetention,
  parseSize,
} from "./quantities.ts";
import { absolutePath } from "./source.ts";
import type { SchemaView } from "./schema_view.ts";
import type { JsonValue } from "./syntax.ts";

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

/**
 * The conversions of formats, for texts and numbers. The other formats only describe a text. What can't be read in a
 * valid config is an unresolved placeholder.
 */
const CONVERSIONS: {
  readonly [Format in keyof FormatValues]: (
    value: string | number,
    options: ConversionOptions,
  ) => FormatValues[Format];
} = {
  duration: (value) => ({ ms: NaN, ...parseDuration(value) }).ms,
  interval: (value) => ({ ms: NaN, ...parseInterval(value) }).ms,
  retention: (value) => ({ ms: NaN, ...parseRetention(value) }).ms,
  path: (value, options) => absolutePath(String(value), options.directory),
  input_file: (value, options) => absolutePath(String(value), options.directory),
  range: (value) => parseRange(String(value)) ?? { text: "", from: null, to: null, isInverted: false },
  size: (value) => ({ bytes: NaN, ...parseSize(value) }).bytes,
  size_or_percentage: (value) => ({ limit: NaN, ...parseLimit(value, "size_or_percentage") }).limit,
  count_or_percentage: (value) => ({ limit: NaN, ...parseLimit(value, "count_or_percentage") }).limit,
  objective: (value) => {
    const { percent, windowMs } = { percent: NaN, windowMs: NaN, ...parseObjective(String(value)) };
    return { percent, windowMs };
  },
  // Without a value for its placeholder, the channel sends nothing.
  message_limit: (value) => {
    const { count, windowMs } = { count: NaN, windowMs: NaN, ...parseMessageLimit(String(value)) };
    return { count, windowMs };
  },
  time_of_day: (value) => minuteOfDay(String(value)) ?? NaN,
  command: (value, options) =>
    options.commands.get(String(value)) ?? absolutePath(String(value), options.directory),
};

const BY_FORMAT: Readonly<Record<string, (value: string | number, options: ConversionOptions) => unknown>> =
  CONVERSIONS;

export function convertValue(
  value: JsonValue,
  format: string | undefined,
  options: ConversionOptions,
): unknown {
  const convert = format === undefined ? undefined : BY_FORMAT[format];
  return convert === undefined || typeof value !== "string" && typeof value !== "number"
    ? value
    : convert(value, options);
}
