import { quoteValue } from "../config/problem.ts";
import { parseIntervalText } from "../config/quantities.ts";
import { type Invocation, UsageError } from "./command_definition.ts";

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
