/** A short notation for series of results: `"W W C"`. */
import type { Condition } from "../../src/domain/condition.ts";

const LETTERS: Readonly<Record<string, Condition>> = { O: "ok", U: "unknown", W: "warning", C: "critical" };

/** The conditions that a run of letters stands for. */
export function parseTrace(trace: string): Condition[] {
  return trace.split(" ").filter((letter) => letter !== "").map(parseLetter);
}

/** The condition that one letter stands for. */
export function parseLetter(letter: string): Condition {
  const condition = LETTERS[letter];
  if (condition === undefined) throw new Error(`cannot read trace: "${letter}" is none of O, U, W, C`);
  return condition;
}
