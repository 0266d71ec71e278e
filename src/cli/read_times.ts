/** The values of options that are times: a duration, `--from` with `--to`, and `--month`. */
import { quoteValue } from "../config/problem.ts";
import { parseIntervalText } from "../config/quantities.ts";
import type { PastSpan } from "../outputs/past_events.ts";
import { parseMonth, parseTime, TIME_EXAMPLES, type TimeContext } from "../shared/local_time.ts";
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
  const from = invocation.text("from");
  const to = invocation.text("to");
  if (from === undefined) {
    if (to !== undefined) throw new UsageError("--to requires --from", EXAMPLE);
    return null;
  }
  const sinceMs = readTime("from", from, { timeZone, nowMs });
  if (sinceMs > nowMs) throw new UsageError(`--from is ${quoteValue(from)}, which is in the future`);
  if (to === undefined) return { sinceMs, untilMs: nowMs };
  const untilMs = readTime("to", to, { timeZone, nowMs: sinceMs });
  if (untilMs <= sinceMs) {
    throw new UsageError(`--to is ${quoteValue(to)}, expected a time after --from ${quoteValue(from)}`);
  }
  return { sinceMs, untilMs: Math.min(untilMs, nowMs) };
}

const EXAMPLE = "monitor history --from 22:00 --to 07:00";

function readTime(name: "from" | "to", text: string, context: TimeContext): number {
  const ms = parseTime(text, context, { isEnd: name === "to", isPast: name === "from" });
  if (typeof ms === "number") return ms;
  const problem = ms === null ? `expected a time such as ${TIME_EXAMPLES}` : "a time that does not exist";
  throw new UsageError(`--${name} is ${quoteValue(text)}, ${problem}`, EXAMPLE);
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
