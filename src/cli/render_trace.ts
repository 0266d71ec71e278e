import type { Check } from "../domain/check.ts";
import { printable, printableBlock } from "../shared/text.ts";

/** A trace as lines below its check. */
export function renderTrace(trace: string): string {
  return trace === "" ? "" : `${printableBlock(trace).split("\n").map((line) => `  ${line}`).join("\n")}\n`;
}

/** The trace of a check with a heading; runs may leave none. */
export function traceOf({ name }: Check, trace: string | undefined): string {
  return `trace of ${printable(name)}:\n${renderTrace(trace || "nothing sent or received")}\n`;
}
