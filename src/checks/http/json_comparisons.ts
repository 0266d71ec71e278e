import { createTextMatcher } from "../body_pattern.ts";
import { exactDuration } from "../../domain/duration.ts";
import type { JsonExpectation, JsonExpectationObject, JsonValue } from "../../domain/generated/config.ts";
import { quote, QUOTED_LENGTH_MAX, truncate } from "../../shared/text.ts";
import { compareDecimals, isDecimal, isExactNumber } from "../../shared/decimal.ts";

export interface Comparison {
  /** Describes the expectation, such as `a number less than 100`. */
  readonly text: string;
  /** Whether it excludes a value. @default false */
  readonly excludes?: boolean;
  /** Returns `null` if the value can't be compared because it is too long. */
  fits(value: unknown): boolean | null;
}

/** Returns the comparisons of an expectation. A value alone is one that is to be equalled. */
export async function compileExpectation(
  wish: JsonExpectation,
  nowMs: number,
): Promise<readonly Comparison[]> {
  return typeof wish !== "object" || wish === null || Array.isArray(wish)
    ? [equalTo(wish as Exclude<JsonExpectation, JsonExpectationObject>)]
    : await Array.fromAsync(comparisonsOf(wish as JsonExpectationObject, nowMs));
}

async function* comparisonsOf(wish: JsonExpectationObject, nowMs: number): AsyncGenerator<Comparison> {
  const { equals, notEquals, oneOf, matches, contains, length, newerThanMs, aheadMs } = wish;
  if (equals !== undefined) yield equalTo(equals);
  if (notEquals !== undefined) {
    const text = `anything but ${show(notEquals)}`;
    yield { text, excludes: true, fits: (value) => !isEqual(value, notEquals) };
  }
  if (oneOf !== undefined) {
    const text = `one of ${truncate(oneOf.map(show).join(", "), QUOTED_LENGTH_MAX)}`;
    yield { text, fits: (value) => oneOf.some((one) => isEqual(value, one)) };
  }
  if (matches !== undefined) {
    const matcher = await createTextMatcher(matches);
    const text = `a match of ${quote(matches)}`;
    yield { text, fits: (value) => typeof value === "string" && matcher.test(value) };
  }
  if (contains !== undefined) {
    yield { text: `a text or list that contains ${show(contains)}`, fits: (value) => holds(value, contains) };
  }
  yield* boundsOf(wish);
  if (length !== undefined) {
    const text = `a length of ${typeof length === "number" ? length : describeLimits(length)}`;
    yield { text, fits: (value) => hasLength(value, length) };
  }
  if (newerThanMs !== undefined) {
    const text = `a time within the last ${exactDuration(newerThanMs)}`;
    yield { text, fits: (value) => nowMs - (timeOf(value) ?? -Infinity) <= newerThanMs };
  }
  if (aheadMs !== undefined) {
    const text = `a time at least ${exactDuration(aheadMs)} ahead`;
    yield { text, fits: (value) => (timeOf(value) ?? 0) - nowMs >= aheadMs };
  }
}

/**
 * Compares a value that a server sent as text. Returns the violation, such as `5, expected at most 4`; `null`: there is
 * none.
 */
export async function compareText(
  value: unknown,
  wish: JsonExpectation,
  nowMs: number,
): Promise<string | null> {
  const forms = formsOf(value);
  for (const { text, excludes, fits } of await compileExpectation(wish, nowMs)) {
    const isMet = (form: unknown): boolean => fits(form) === true;
    if (excludes ? forms.every(isMet) : forms.some(isMet)) continue;
    return `${show(forms[0])}, expected ${text}`;
  }
  return null;
}

/** A text of digits is also a number: that is how servers send decimal numbers. */
export function formsOf(value: unknown): readonly unknown[] {
  return typeof value === "string" && /^-?\d{1,15}(?:\.\d{1,30})?(?:e[+-]?\d{1,2})?$/i.test(value)
    ? [Number(value), value]
    : [value];
}

/** Returns whether there is to be no value. */
export function isAbsenceExpected(wish: JsonExpectation): wish is JsonExpectationObject {
  return typeof wish === "object" && wish !== null && "exists" in wish && wish.exists === false;
}

function equalTo(wanted: JsonValue): Comparison {
  return { text: show(wanted), fits: (value) => isEqual(value, wanted) };
}

function* boundsOf({ lessThan, greaterThan, atLeast, atMost }: JsonExpectationObject) {
  /** `fits` compares the order of a value and its limit with 0. */
  const bound = (name: string, limit: number, fits: (order: number) => boolean): Comparison => ({
    text: `a number ${name} ${limit}`,
    fits: (value) =>
      value instanceof LongNumber
        ? fits(value.compare(limit))
        : typeof value === "number" && fits(value - limit),
  });
  if (lessThan !== undefined) yield bound("less than", lessThan, (order) => order < 0);
  if (greaterThan !== undefined) yield bound("greater than", greaterThan, (order) => order > 0);
  if (atLeast !== undefined) yield bound("of at least", atLeast, (order) => order >= 0);
  if (atMost !== undefined) yield bound("of at most", atMost, (order) => order <= 0);
}

function holds(value: unknown, wanted: JsonValue): boolean {
  if (typeof value === "string") return typeof wanted === "string" && value.includes(wanted);
  return Array.isArray(value) && value.some((item) => isEqual(item, wanted));
}

type Length = NonNullable<JsonExpectationObject["length"]>;

function describeLimits({ atLeast, atMost }: Exclude<Length, number>): string {
  return [
    ...atLeast === undefined ? [] : [`at least ${atLeast}`],
    ...atMost === undefined ? [] : [`at most ${atMost}`],
  ].join(" and ");
}

function hasLength(value: unknown, wanted: Length): boolean {
  const isSized = typeof value === "string" || typeof value === "object" && value !== null;
  if (!isSized || value instanceof LongNumber) return false;
  const length = typeof value === "string" ? [...value].length : Object.keys(value).length;
  if (typeof wanted === "number") return length === wanted;
  const { atLeast = 0, atMost = Infinity } = wanted;
  return length >= atLeast && length <= atMost;
}

const ISO_TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/i;

/** A larger number of seconds is in the year 5138. */
const SECONDS_MAX = 1e11;

/** Returns milliseconds since 1970; `null` if a value is no time. */
function timeOf(value: unknown): number | null {
  if (value instanceof LongNumber) return timeOf(Number(String(value)));
  if (typeof value === "number") return value < SECONDS_MAX ? value * 1000 : value;
  const found = typeof value === "string" ? ISO_TIME.exec(value) : null;
  if (found === null) return null;
  const [text, offset] = found;
  const isDate = text.length === "2000-01-01".length;
  const timeMs = Date.parse(`${text.replace(" ", "T")}${isDate || offset !== undefined ? "" : "Z"}`);
  return Number.isNaN(timeMs) ? null : timeMs;
}

/** Compares as RFC 9535 does (section 2.3.5.2.2): the order of keys does not matter. */
function isEqual(value: unknown, expected: JsonValue): boolean {
  if (value instanceof LongNumber) return false;
  if (typeof value !== "object" || value === null || typeof expected !== "object" || expected === null) {
    return value === expected;
  }
  if (Array.isArray(value) !== Array.isArray(expected)) return false;
  const names = Object.keys(expected);
  const members = expected as Readonly<Record<string, JsonValue>>;
  return Object.keys(value).length === names.length && names.every((name) => {
    const wanted = members[name];
    return wanted !== undefined && Object.hasOwn(value, name) &&
      isEqual((value as Readonly<Record<string, unknown>>)[name], wanted);
  });
}

/** JSON; of a large value only its kind, which costs nothing to print. */
export function show(value: unknown): string {
  if (typeof value === "string") return quote(value);
  if (typeof value !== "object" || value === null || value instanceof LongNumber) return String(value);
  const size = Object.keys(value).length;
  if (
    size > SHOWN_PARTS_MAX || Object.values(value).some((part) => typeof part === "object" && part !== null)
  ) {
    return Array.isArray(value) ? `a list of ${size}` : `an object of ${size}`;
  }
  const parts = Array.isArray(value)
    ? value.map((part) => show(unmarked(part)))
    : Object.entries(value).map(([name, part]) => `${quote(name)}: ${show(unmarked(part))}`);
  const text = truncate(parts.join(", "), QUOTED_LENGTH_MAX);
  return Array.isArray(value) ? `[${text}]` : `{${text}}`;
}

const SHOWN_PARTS_MAX = 5;

/** A number with more digits than the runtime keeps; it equals no number that the runtime has. */
class LongNumber {
  readonly #written: string;

  constructor(written: string) {
    this.#written = written;
  }

  compare(number: number): number {
    return compareDecimals(this.#written, String(number));
  }

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
