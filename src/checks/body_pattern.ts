/** Regular expressions of checks, and what the steps of `http_request` and `tcp_connect` capture with them. */
import type { ParameterProblem } from "../domain/check_kind.ts";

/** The maximum number of steps of a compiled pattern in one call: until it returns, nothing else can run. */
const TRIES_MAX = 5_000_000;

/** Prepares a search through many short texts, of `lengthMax` characters together. The library is loaded only here. */
export async function createLineSearch(
  pattern: string,
): Promise<{ readonly lengthMax: number; test(text: string): boolean }> {
  const { program, lengthMax } = await compile(pattern);
  return { lengthMax, test: (text) => program.test(text) };
}

async function compile(pattern: string) {
  const { RE2JS } = await import("re2js");
  const program = RE2JS.compile(pattern);
  return { program, lengthMax: Math.floor(TRIES_MAX / program.programSize()) };
}

interface PatternSearchOptions {
  readonly pattern: string;
  readonly isWhole: boolean;
}

interface PatternSearch {
  /** Whether there is a match, however the text goes on behind what was searched. */
  readonly found: boolean;
  /** How many characters were searched where that was not all; `null`: all. */
  readonly searchedLength: number | null;
}

export function describeReach({ searchedLength }: Pick<PatternSearch, "searchedLength">): string {
  return searchedLength === null ? "" : ` in its first ${searchedLength} characters`;
}

/**
 * Searches a text for a regular expression in RE2 syntax.
 *
 * RE2's matching takes time in proportion to the length of the text and, at most, to the size of the compiled
 * pattern, for any text. A worker would not help: the runtime cannot terminate one that is busy. So the searched text
 * is limited by both, and one search lasts at most about 50 ms. The library is loaded only here.
 */
export async function searchPattern(
  text: string,
  { pattern, isWhole }: PatternSearchOptions,
): Promise<PatternSearch> {
  const { program, lengthMax } = await compile(pattern);
  const length = Math.min(text.length, lengthMax);
  const part = text.slice(0, length);
  const isAll = isWhole && length === text.length;
  const found = program.test(part);
  if (isAll || !found || !ASSERTS_END.test(pattern)) return { found, searchedLength: isAll ? null : length };
  // A match that ends at the cut may be there only because of it.
  const matcher = program.matcher(part);
  return { found: matcher.find() && matcher.end() < length, searchedLength: length };
}

/** The end of the text or of a line, or of a word; also where that is only a text. */
const ASSERTS_END = /\$|\\[zbB]/;

/** The texts share the limit of {@linkcode searchPattern}; `null` beyond it. The same text costs nothing again. */
export async function createTextMatcher(pattern: string): Promise<{ test(text: string): boolean | null }> {
  const { program, lengthMax } = await compile(pattern);
  let lengthLeft = lengthMax;
  const known = new Map<string, boolean>();
  return {
    test(text) {
      let found = known.get(text);
      if (found !== undefined) return found;
      // Each test costs something, however short the text is.
      lengthLeft -= text.length + 10;
      if (lengthLeft < 0) return null;
      known.set(text, found = program.test(text));
      return found;
    },
  };
}

interface CaptureSearch extends Pick<PatternSearch, "searchedLength"> {
  /** The match of the first group, or of the whole pattern if it has none; `null`: no match, or one that the cut may have ended. */
  readonly captured: string | null;
}

/** Finds a part of a text by a regular expression, within half of the limit of {@linkcode searchPattern}. */
export async function searchCapture(
  text: string,
  { pattern, isWhole }: PatternSearchOptions,
): Promise<CaptureSearch> {
  const { program, lengthMax } = await compile(pattern);
  const length = Math.min(text.length, Math.floor(lengthMax / 2));
  const isAll = isWhole && length === text.length;
  const matcher = program.matcher(text.slice(0, length));
  const isFound = matcher.find() && (isAll || matcher.end() < length);
  const group = matcher.groupCount() > 0 ? 1 : 0;
  return { searchedLength: isAll ? null : length, captured: isFound ? matcher.group(group) ?? null : null };
}

export interface LineMatch {
  /** The text of each group with a name; empty if it is not part of the match. */
  readonly groups: Readonly<Record<string, string>>;
}

/** Compiles a pattern for many lines, which share half of the limit of {@linkcode searchPattern}; `too_long` beyond it. */
export async function compileLinePattern(
  pattern: string,
): Promise<{ match(line: string): LineMatch | "too_long" | null }> {
  const { program, lengthMax } = await compile(pattern);
  const names = Object.keys(program.namedGroups());
  let lengthLeft = lengthMax / 2;
  return {
    match(line) {
      // Each test costs something, however short the line is.
      lengthLeft -= line.length + 10;
      if (lengthLeft < 0) return "too_long";
      const matcher = program.matcher(line);
      if (!matcher.find()) return null;
      return { groups: Object.fromEntries(names.map((name) => [name, matcher.group(name) ?? ""])) };
    },
  };
}

// Names and captured values of steps.

export function stepName({ name }: { readonly name?: string }, index: number): string {
  return name ?? `step ${index + 1}`;
}

export function metricName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]+/g, "_").toLowerCase();
}

/** Rejects names of steps whose metrics would have the same name. */
export function* nameErrors(steps: readonly { readonly name?: string }[]): Generator<ParameterProblem> {
  const names = steps.map((step, index) => metricName(stepName(step, index)));
  for (const [index, name] of names.entries()) {
    const first = names.indexOf(name);
    const message = `is too much like the name of step ${first + 1}`;
    if (first < index) yield { path: ["steps", index, "name"], message };
  }
}

const CAPTURED = /\$\{captured:([^{}]*)\}/g;

export function capturedNames(text: string): readonly string[] {
  return [...text.matchAll(CAPTURED)].map(([, name = ""]) => name);
}

export function replaceCaptured(text: string, valueOf: (name: string) => string): string {
  return text.replaceAll(CAPTURED, (_whole, name: string) => valueOf(name));
}
