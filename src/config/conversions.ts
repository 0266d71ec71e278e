/** The resolved values of formats: milliseconds, bytes, absolute paths and the like. */
import { parseRange } from "../shared/parse_range.ts";
import type { Limit } from "../domain/thresholds.ts";
import { parseDuration } from "./parse_duration.ts";
import { parseInterval } from "./interval.ts";
import { type LimitFormat, parseLimit } from "./parse_limit.ts";
import { parseMessageLimit } from "./parse_message_limit.ts";
import { parseObjective } from "./parse_objective.ts";
import { parseSize } from "./parse_size.ts";
import { absolutePath } from "./source.ts";
import type { JsonValue } from "./syntax.ts";
import { minuteOfDay } from "./time_of_day.ts";

export interface ConversionOptions {
  /** The directory of relative paths, absolute. */
  readonly directory: string;
  /** Absolute paths of the commands without a slash. */
  readonly commands: ReadonlyMap<string, string>;
}

/** The units of formats, for the ends of names. */
export const UNITS: Readonly<Record<string, string>> = {
  duration: "Ms",
  interval: "Ms",
  time_of_day: "Minute",
  size: "Bytes",
};

/** The conversions of formats. The others only describe a text. */
export const CONVERSIONS: Readonly<
  Record<string, (value: JsonValue, options: ConversionOptions) => unknown>
> = {
  duration: (value) => milliseconds(value, parseDuration),
  interval: (value) => typeof value === "boolean" ? value : milliseconds(value, parseInterval),
  path: (value, options) => absolutePath(String(value), options.directory),
  input_file: (value, options) => absolutePath(String(value), options.directory),
  range: (value) => parseRange(String(value)),
  size: (value) => {
    const size = parseSize(typeof value === "number" ? value : String(value));
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

/** A value that is no interval in a valid config is an unresolved placeholder. */
function milliseconds(value: JsonValue, parse: typeof parseInterval): number {
  const interval = parse(typeof value === "number" ? value : String(value));
  return "ms" in interval ? interval.ms : NaN;
}

function limitOf(value: JsonValue, format: LimitFormat): Limit {
  const parsed = parseLimit(typeof value === "number" ? value : String(value), format);
  return "limit" in parsed ? parsed.limit : NaN;
}
