/** The values of options that are times: a duration, `--from` with `--to`, and `--month`. */
import { quoteValue } from "../config/problem.ts";
import { parseIntervalText } from "../config/quantities.ts";
import type { PastSpan } from "../outputs/past_events.ts";
import { parseMonth, parseTime, TIME_EXAMPLES, type TimeContext } from "../shared/local_time.ts";
import { SECOND_MS } from "../shared/time_units.ts";
import { type Invocation, option, type OptionSpec, UsageError } from "./command_definition.ts";

export const SPAN_OPTIONS: readonly OptionSpec[] = [
  option(
    "--from TIME",
    `begin, in the time zone of the config or one of its own, such as ${TIME_EXAMPLES}; a time of day is the most ` +
      "recent one",
  ),
  option(
    "--to TIME",
    "end; a time of day is the first one after the begin, a date includes its day (default: now)",
  ),
];

/** Returns the span of `--from` and `--to`; `null`: neither is given. */
export function readSpan(invocation: Invocation, { timeZone, nowMs }: TimeContext): PastSpan | null {
  const to = invocation.text("to");
  const sinceMs = readTime(invocation, "from", { timeZone, nowMs, isPast: true, example: EXAMPLE });
  if (sinceMs === null) {
    if (to !== undefined) throw new UsageError("--to requires --from", EXAMPLE);
    return null;
  }
  if (to === undefined) return { sinceMs, untilMs: nowMs };
  const untilMs = readTime(invocation, "to", { timeZone, nowMs: sinceMs, isEnd: true, example: EXAMPLE });
  if (untilMs === null || untilMs <= sinceMs) {
    const from = quoteValue(invocation.text("from"));
    throw new UsageError(`--to is ${quoteValue(to)}, expected a time after --from ${from}`);
  }
  return { sinceMs, untilMs: Math.min(untilMs, nowMs) };
}

const EXAMPLE = "monitor history --from 22:00 --to 07:00";

interface TimeOption extends TimeContext {
  /** Whether a date includes its day. @default false */
  readonly isEnd?: boolean;
  /** Whether a time of day is the most recent one. @default the next one */
  readonly isPast?: boolean;
  /** Whether a time without milliseconds includes its second, up to now: messages show no finer unit. @default false */
  readonly includesSecond?: boolean;
  readonly example?: string;
}

/**
 * Returns the time of an option, milliseconds since 1970; `null` without the option.
 *
 * @throws {UsageError} If it is none, or one in the future that has to be past.
 */
export function readTime(
  invocation: Invocation,
  name: string,
  { example, isEnd = false, isPast = false, includesSecond = false, ...context }: TimeOption,
): number | null {
  const text = invocation.text(name);
  if (text === undefined) return null;
  const ms = parseTime(text, context, { isEnd, isPast });
  const problem = ms === null
    ? `expected a time such as ${TIME_EXAMPLES}`
    : ms === "no such time"
    ? "a time that does not exist"
    : isPast && ms > context.nowMs
    ? "which is in the future"
    : null;
  if (typeof ms === "number" && problem === null) {
    return includesSecond && !text.includes(".") ? Math.min(ms + SECOND_MS - 1, context.nowMs) : ms;
  }
  throw new UsageError(`--${name} is ${quoteValue(text)}, ${problem}`, example);
}

/** Returns the month of `--month`, up to now; `null`: without the option. */
export function readMonth(invocation: Invocation, { timeZone, nowMs }: TimeContext): PastSpan | null {
  const text = invocation.text("month");
  if (text === undefined) return null;
  const span = parseMonth(text, timeZone);
  if (span === null) {
    throw new UsageError(`--month is ${quoteValue(text)}, expected a year and a month such as 2026-10`);
  }
  if (span.sinceMs >= nowMs) throw new UsageError(`--month is ${quoteValue(text)}, which is in the future`);
  return { ...span, untilMs: Math.min(span.untilMs, nowMs) };
}

/** Returns the duration of an option; `null` without the option. */
export function readDuration(
  invocation: Invocation,
  name: string,
  hintFor: (text: string) => string | undefined = () => undefined,
): number | null {
  const text = invocation.text(name);
  if (text === undefined) return null;
  const interval = parseIntervalText(text);
  if ("ms" in interval) return interval.ms;
  throw new UsageError(`--${name} ${quoteValue(text)} ${interval.problem}`, hintFor(text));
}
