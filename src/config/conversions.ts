/** The resolved values of formats: milliseconds, bytes, absolute paths and the like. */
import { parseRange } from "../shared/parse_range.ts";
import type { FormatValues } from "../domain/generated/config.ts";
import type { Limit } from "../domain/thresholds.ts";
import { parseDuration } from "./parse_duration.ts";
import { parseInterval, parseObjective } from "./interval.ts";
import { parseMessageLimit } from "./parse_message_limit.ts";
import { type LimitFormat, parseLimit, parseSize } from "./parse_size.ts";
import { absolutePath } from "./source.ts";
import type { SchemaView } from "./schema_view.ts";
import type { JsonValue } from "./syntax.ts";
import { minuteOfDay } from "./time_of_day.ts";

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
  time_of_day: "Minute",
  size: "Bytes",
};

/** The name of a key once it is resolved: in camel case, with its unit. */
export function resolvedName(name: string, { format, types }: Pick<SchemaView, "format" | "types">): string {
  const unit = types.includes("boolean") ? "" : UNITS[format ?? ""] ?? "";
  return name.replace(/_(\w)/g, (_match, letter: string) => letter.toUpperCase()) + unit;
}

/** The conversions of formats, for texts and numbers. The other formats only describe a text. */
const CONVERSIONS: {
  readonly [Format in keyof FormatValues]: (
    value: string | number,
    options: ConversionOptions,
  ) => FormatValues[Format];
} = {
  duration: (value) => milliseconds(value, parseDuration),
  interval: (value) => milliseconds(value, parseInterval),
  path: (value, options) => absolutePath(String(value), options.directory),
  input_file: (value, options) => absolutePath(String(value), options.directory),
  range: (value) => parseRange(String(value)) ?? { text: "", from: null, to: null, isInverted: false },
  size: (value) => {
    const size = parseSize(value);
    return "bytes" in size ? size.bytes : NaN;
  },
  size_or_percentage: (value) => limitOf(value, "size_or_percentage"),
  count_or_percentage: (value) => limitOf(value, "count_or_percentage"),
  objective: (value) => {
    const objective = parseObjective(String(value));
    // An unresolved placeholder.
    return "problem" in objective ? { percent: NaN, windowMs: NaN } : objective;
  },
  // Without a value for its placeholder, the channel sends nothing.
  message_limit: (value) => parseMessageLimit(String(value)) ?? { count: NaN, windowMs: NaN },
  time_of_day: (value) => minuteOfDay(String(value)) ?? NaN,
  command: (value, options) =>
    options.commands.get(String(value)) ?? absolutePath(String(value), options.directory),
};

const BY_FORMAT: Readonly<Record<string, (value: string | number, options: ConversionOptions) => unknown>> =
  CONVERSIONS;

/** Converts a text or a number to what its format means. */
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

/** A value that is no interval in a valid config is an unresolved placeholder. */
function milliseconds(value: string | number, parse: typeof parseInterval): number {
  const interval = parse(value);
  return "ms" in interval ? interval.ms : NaN;
}

function limitOf(value: string | number, format: LimitFormat): Limit {
  const parsed = parseLimit(value, format);
  return "limit" in parsed ? parsed.limit : NaN;
}
