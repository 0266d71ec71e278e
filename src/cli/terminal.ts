import type { System, TextSink } from "../domain/system.ts";
import type { Invocation } from "./command.ts";

/**
 * Whether a sink takes colour: a terminal that is not dumb, unless `NO_COLOR` is set to anything
 * (https://no-color.org).
 */
export function usesColour(sink: TextSink, system: Pick<System, "environment">): boolean {
  return sink.isTerminal && !system.environment("NO_COLOR") && system.environment("TERM") !== "dumb";
}

/** Whether a command may colour what it writes to a sink. */
export function wantsColour(
  invocation: Invocation,
  sink: TextSink,
  system: Pick<System, "environment">,
): boolean {
  return !invocation.options.has("no-color") && usesColour(sink, system);
}
