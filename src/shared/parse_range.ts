import type { Range } from "../domain/limits.ts";
import { compareDecimals } from "./decimal.ts";

const NUMBER = String.raw`-?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})`;

const RANGE = new RegExp(`^(@?)(?:(${NUMBER}|~)?(:))?(${NUMBER})?$`);

/**
 * Reads a range: `10` (0 to 10), `10:` (10 or more), `~:10` (10 or less), `10:20`, and `@10:20` for numbers that are
 * a problem within it. Returns `null` if the text is none.
 */
export function parseRange(text: string): Range | null {
  const found = RANGE.exec(text);
  if (found === null) return null;
  const [, sign, start, colon, end] = found;
  if (colon === undefined && end === undefined) return null;
  const from = start === "~" ? null : start ?? "0";
  const to = end ?? null;
  const isEmpty = from !== null && to !== null && compareDecimals(from, to) > 0;
  return isEmpty ? null : { text, from, to, isInverted: sign === "@" };
}

/** Compares a decimal number with every digit, since the runtime's numbers are exact up to 2^53 only. */
export function violatesRange(value: string, { from, to, isInverted }: Range): boolean {
  const isWithin = (from === null || compareDecimals(value, from) >= 0) &&
    (to === null || compareDecimals(value, to) <= 0);
  return isWithin === isInverted;
}

/** Describes the numbers that are a problem: `outside 10:20`, or `within 10:20`. */
export function describeRange({ text, isInverted }: Range): string {
  return isInverted ? `within ${text.slice(1)}` : `outside ${text}`;
}
