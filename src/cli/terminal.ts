import type { System, TextSink } from "../domain/system.ts";
import type { Invocation } from "./command_definition.ts";

/** A terminal that is not dumb has color, unless `NO_COLOR` is set to anything (https://no-color.org). */
export function usesColor(sink: TextSink, system: Pick<System, "environment">): boolean {
  return sink.isTerminal && !system.environment("NO_COLOR") && system.environment("TERM") !== "dumb";
}

export function wantsColor(
  invocation: Invocation,
  sink: TextSink,
  system: Pick<System, "environment">,
): boolean {
  return !invocation.has("no-color") && usesColor(sink, system);
}

/** Formats for pieces of printable text. */
export type Colors = Readonly<
  Record<"bold" | "dim" | "red" | "green" | "yellow" | "cyan", (text: string) => string>
>;

/** The colors of a terminal; without `color` each returns its text as it is. */
export function createColors(color: boolean): Colors {
  const paint = (on: number, off: number) => (text: string) =>
    color && text !== "" ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
  };
}
