import type { System } from "../domain/system.ts";
import type { TextSink } from "../domain/text_sink.ts";
import type { Invocation } from "./command_definition.ts";

/**
 * Returns whether a sink supports color: a terminal that is not dumb, unless `NO_COLOR` is set to anything
 * (https://no-color.org).
 */
export function usesColor(sink: TextSink, system: Pick<System, "environment">): boolean {
  return sink.isTerminal && !system.environment("NO_COLOR") && system.environment("TERM") !== "dumb";
}

export function wantsColor(
  invocation: Invocation,
  sink: TextSink,
  system: Pick<System, "environment">,
): boolean {
  return !invocation.options.has("no-color") && usesColor(sink, system);
}
