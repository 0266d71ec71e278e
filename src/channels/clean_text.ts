/**
 * Rules of this file: titles, names and outputs come from configs and from targets, so any of them may contain
 * newlines that forge a line, escape sequences, or marks that reorder a line. Receivers get none of these.
 */
import { oneLine, replaceUnsafe, truncate } from "../shared/text.ts";
import type { Delivery } from "../domain/delivery.ts";

const TERMINAL_SEQUENCE = new RegExp("(?:\u001b\\[|\u009b)[0-9;:?]*[@-~]", "g");

/** Any text as one line of at most so many characters, an ellipsis included. */
export function cleanLine(text: string, lengthMax: number): string {
  // Cleaning never lengthens a text, so the rest far behind the end can be skipped.
  const line = clean(text.slice(0, 16 * lengthMax)).replace(/\s+/g, " ").trim();
  return truncate(line, lengthMax);
}

const LINES_MAX = 20;
/** {@linkcode cleanLines} reads 16 times as many. */
export const LINES_LENGTH_MAX = 4096;

/** Returns the first lines of a text without trailing space, and whether there are more. */
export function cleanLines(text: string): { readonly lines: readonly string[]; readonly isCut: boolean } {
  const lines: string[] = [];
  let left = LINES_LENGTH_MAX;
  const all = clean(text.slice(0, 16 * LINES_LENGTH_MAX)).split("\n").map((line) => line.trimEnd());
  while (all.at(-1) === "") all.pop();
  for (const line of all) {
    if (lines.length === LINES_MAX || left <= 0) break;
    const shortened = truncate(line, left);
    lines.push(shortened);
    left -= shortened.length + 1;
  }
  const isCut = lines.length < all.length || text.length > 16 * LINES_LENGTH_MAX || left < 0;
  return { lines, isCut };
}

function clean(text: string): string {
  const plain = text.replace(TERMINAL_SEQUENCE, "").replaceAll("\r\n", "\n").replaceAll("\t", "    ");
  return replaceUnsafe(plain, (character) => character === "\n" ? character : " ");
}

type Failure = Extract<Delivery, { readonly delivered: false }>;

/** By default, it has not arrived, and the receiver did not ask to wait. */
export function notDelivered(reason: string, about: Pick<Failure, "retryable"> & Partial<Failure>): Delivery {
  return { delivered: false, mayHaveArrived: false, retryAfterMs: null, reason, ...about };
}

/** A message that was delivered without a note. */
export const DELIVERED: Delivery = { delivered: true, note: null };

export function firstLine(text: string): string {
  return oneLine(text.trim().split(/[\r\n]/)[0] ?? "");
}

/** Puts `: ` before words, if there are any. */
export function afterColon(words: string): string {
  return words === "" ? "" : `: ${words}`;
}
