import { compareDecimals, isDecimal, isExactNumber } from "../../shared/decimal.ts";

/** A number with more digits than the runtime keeps; it equals no number that the runtime has. */
export class LongNumber {
  readonly #written: string;

  constructor(written: string) {
    this.#written = written;
  }

  /** Returns a number below 0, 0 or one above, as for sorting. */
  compare(number: number): number {
    return compareDecimals(this.#written, String(number));
  }

  /** As it is written. */
  toString(): string {
    return this.#written;
  }
}

/** More of them would keep everything else waiting. */
export const LONG_NUMBERS_MAX = 10_000;

/** A text without any of these has no long number: sixteen digits, or an exponent of three. */
const MAY_BE_LONG = /\d(?:\.?\d){15}|[eE][-+]?\d{3}/;

/** A string, or a number that may be long. */
const TOKEN =
  /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\w.+-])-?(?:\d[\d.]{15,}(?:[eE][-+]?\d+)?|\d[\d.]*[eE][-+]?\d{3,})/g;

/** A text with this before it is a long number. Whoever sends it could send the number too. */
const MARK = "\ue000number:";

/** Turns the long numbers of a text, which is JSON, into texts with a mark; `null`: there are too many. */
export function markLongNumbers(text: string): string | null {
  if (!MAY_BE_LONG.test(text)) return text;
  let count = 0;
  const marked = text.replaceAll(TOKEN, (token) => {
    if (token.startsWith('"') || token === String(Number(token))) return token;
    if (++count > LONG_NUMBERS_MAX || isExactNumber(token)) return token;
    return `"${MARK}${token}"`;
  });
  return count > LONG_NUMBERS_MAX ? null : marked;
}

/** Returns a value of marked JSON, which is a number where it has the mark. */
export function unmarked(value: unknown): unknown {
  if (typeof value !== "string" || !value.startsWith(MARK)) return value;
  const written = value.slice(MARK.length);
  return isDecimal(written) ? new LongNumber(written) : value;
}
