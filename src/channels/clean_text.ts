/**
 * Rules of this file: titles, names and outputs come from configs and from targets, so any of them may contain
 * newlines that forge a line, escape sequences, or marks that reorder a line. Receivers get none of these.
 */
import { replaceUnsafe } from "../shared/printable.ts";
import { truncate } from "../shared/truncate.ts";

/** Escape sequences of terminals: colors and the like. */
const TERMINAL_SEQUENCE = new RegExp("(?:\u001b\\[|\u009b)[0-9;:?]*[@-~]", "g");

/** Any text as one line of at most so many characters, an ellipsis included. */
export function cleanLine(text: string, lengthMax: number): string {
  // Cleaning never lengthens a text, so the rest far behind the end can be skipped.
  const line = clean(text.slice(0, 16 * lengthMax)).replace(/\s+/g, " ").trim();
  return truncate(line, lengthMax);
}

/** Splits a text into lines without trailing space, each of limited length, and returns how many there were. */
export function cleanLines(
  text: string,
  { linesMax, charactersMax }: { readonly linesMax: number; readonly charactersMax: number },
): { readonly lines: readonly string[]; readonly isCut: boolean } {
  const lines: string[] = [];
  let left = charactersMax;
  const all = clean(text.slice(0, 16 * charactersMax)).split("\n").map((line) => line.trimEnd());
  while (all.at(-1) === "") all.pop();
  for (const line of all) {
    if (lines.length === linesMax || left <= 0) break;
    const shortened = truncate(line, left);
    lines.push(shortened);
    left -= shortened.length + 1;
  }
  const isCut = lines.length < all.length || text.length > 16 * charactersMax || left < 0;
  return { lines, isCut };
}

function clean(text: string): string {
  const plain = text.replace(TERMINAL_SEQUENCE, "").replaceAll("\r\n", "\n").replaceAll("\t", "    ");
  return replaceUnsafe(plain, (character) => character === "\n" ? character : " ");
}
