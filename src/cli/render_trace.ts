import { printableBlock } from "../shared/printable.ts";

/** A trace as lines below its check. */
export function renderTrace(trace: string): string {
  return trace === "" ? "" : `${printableBlock(trace).split("\n").map((line) => `  ${line}`).join("\n")}\n`;
}
