import type { Range } from "../domain/limits.ts";

/** Decimal numbers with every digit: a number of the runtime keeps 15 to 17. */

interface Decimal {
  readonly isNegative: boolean;
  /** Without zeros at both ends; empty for 0. */
  readonly digits: string;
  /** The number is 0.DIGITS times 10 to this power. */
  readonly power: number;
}

/** Returns whether the runtime has a number that is written, in other words or not, with the same digits. */
export function isExactNumber(written: string): boolean {
  const number = Number(written);
  return Number.isFinite(number) && compareDecimals(written, String(number)) === 0;
}

export function isDecimal(text: string): boolean {
  return NUMBER.test(text);
}

/** Returns a number below 0, 0 or one above. Throws a {@linkcode RangeError} if one of them is no decimal number. */
export function compareDecimals(one: string, other: string): number {
  const [first, second] = [readDecimal(one), readDecimal(other)];
  const difference = signOf(first) - signOf(second);
  if (difference !== 0 || first.digits === "") return difference;
  const [smaller, larger] = first.isNegative ? [second, first] : [first, second];
  if (smaller.power !== larger.power) return smaller.power - larger.power;
  return smaller.digits === larger.digits ? 0 : smaller.digits < larger.digits ? -1 : 1;
}

function readDecimal(written: string): Decimal {
  const parts = NUMBER.exec(written);
  if (parts === null) throw new RangeError(`Cannot compare "${written}": it is no decimal number`);
  const [, sign, whole = "", fraction = "", exponent = "0"] = parts;
  const all = whole + fraction;
  const start = all.search(/[1-9]/);
  if (start < 0) return { isNegative: false, digits: "", power: 0 };
  return {
    isNegative: sign === "-",
    digits: withoutEndZeros(all.slice(start)),
    power: whole.length - start + Number(exponent),
  };
}

/** A regular expression would take quadratic time for zeros within. */
function withoutEndZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === "0") end--;
  return digits.slice(0, end);
}

/** As in JSON, and `+1`, `1.` and `.5` as in performance data. */
const NUMBER = /^([-+]?)(?=\.?\d)(\d*)(?:\.(\d*))?(?:[eE]([-+]?\d+))?$/;

function signOf({ isNegative, digits }: Decimal): number {
  return digits === "" ? 0 : isNegative ? -1 : 1;
}

const RANGE_END = String.raw`-?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})`;

const RANGE = new RegExp(`^(@?)(?:(${RANGE_END}|~)?(:))?(${RANGE_END})?$`);

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

export function violatesRange(value: string, { from, to, isInverted }: Range): boolean {
  const isWithin = (from === null || compareDecimals(value, from) >= 0) &&
    (to === null || compareDecimals(value, to) <= 0);
  return isWithin === isInverted;
}

/** Describes the numbers that are a problem: `outside 10:20`, or `within 10:20`. */
export function describeRange({ text, isInverted }: Range): string {
  return isInverted ? `within ${text.slice(1)}` : `outside ${text}`;
}
