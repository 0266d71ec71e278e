import { type ConfigPath, describePath, type PlacedProblem, type Problem } from "./problem.ts";
import type { JSONScanner } from "jsonc-parser";
// The package's first module also makes the line breaks of a formatter, a hundred kilobytes at each start.
import { createScanner } from "jsonc-parser/lib/esm/impl/scanner.js";

interface Position {
  /** From 1. Lines end with LF, CRLF or CR. */
  readonly line: number;
  /** From 1, in UTF-16 code units. */
  readonly column: number;
}

/** Lazy: it reads the lines at the first problem, and an object or a list for the first place in it. */
export function createPlacer(text: string): (problem: Problem) => PlacedProblem {
  const locate = createLocator(text);
  let lineStarts: readonly number[] | undefined;
  return (problem) => {
    lineStarts ??= findLineStarts(text);
    const offset = problem.offset ?? locate(problem.path, problem.at ?? "value");
    return {
      path: describePath(problem.path),
      message: problem.message,
      hint: problem.hint ?? null,
      ...positionIn(lineStarts, offset),
      offset,
    };
  };
}

export function positionOf(text: string, offset: number): Position {
  return positionIn(findLineStarts(text), offset);
}

/** The beginning of a key or an element; for an element, of the element itself. */
interface Entry {
  readonly name: number;
  readonly value: number;
}

function createLocator(text: string): (path: ConfigPath, at: "name" | "value") => number {
  const tokens = createTokenReader(text);
  const containers = new Map<number, ReadonlyMap<string | number, Entry>>();

  const skipValue = (first: number): void => {
    let depth = 0;
    for (let token = first;; token = tokens.next()) {
      if (token === TOKEN.openBrace || token === TOKEN.openBracket) depth++;
      else if (token === TOKEN.closeBrace || token === TOKEN.closeBracket) depth--;
      if (depth <= 0 || token === TOKEN.end) return;
    }
  };

  /** Returns the keys of an object (of a duplicate key the first one), or the elements of a list. */
  const readEntries = (offset: number): ReadonlyMap<string | number, Entry> => {
    const entries = new Map<string | number, Entry>();
    tokens.setPosition(offset);
    const open = tokens.next();
    if (open !== TOKEN.openBrace && open !== TOKEN.openBracket) return entries;
    for (let token = tokens.next();; token = tokens.next()) {
      if (token === TOKEN.comma) continue;
      if (token === TOKEN.closeBrace || token === TOKEN.closeBracket || token === TOKEN.end) return entries;
      const name = tokens.getTokenOffset();
      let key: string | number = entries.size;
      if (open === TOKEN.openBrace) {
        key = tokens.getTokenValue();
        tokens.next();
        token = tokens.next();
      }
      const value = tokens.getTokenOffset();
      skipValue(token);
      if (!entries.has(key)) entries.set(key, { name, value });
    }
  };

  return (path, at) => {
    tokens.setPosition(0);
    tokens.next();
    let value = tokens.getTokenOffset();
    let found = value;
    for (const segment of path) {
      const entry = containers.getOrInsertComputed(value, readEntries).get(segment);
      if (entry === undefined) break;
      value = entry.value;
      found = entry[at];
    }
    return found;
  };
}

function findLineStarts(text: string): readonly number[] {
  return [0, ...Iterator.from(text.matchAll(/\r\n?|\n/g)).map(({ 0: end, index }) => index + end.length)];
}

/** Finds the last line that starts at or before an offset. */
function positionIn(starts: readonly number[], offset: number): Position {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
}

/** The kinds of tokens, as jsonc-parser numbers them: a const enum there, which does not exist at run time. */
export const TOKEN = {
  openBrace: 1,
  closeBrace: 2,
  openBracket: 3,
  closeBracket: 4,
  comma: 5,
  colon: 6,
  null: 7,
  true: 8,
  false: 9,
  string: 10,
  number: 11,
  lineComment: 12,
  blockComment: 13,
  /** Characters of no JSON token, up to the next token or white space. */
  unknown: 16,
  end: 17,
} as const;

/** The error of a token, numbered likewise; 0: none. */
export const FAULT = { openComment: 1, openString: 2, openNumber: 3 } as const;

/**
 * Reads a text token by token, without white space and comments. The position is the end of the token, and its error one
 * of {@linkcode FAULT}, or another number for a string that is not right; 0 for none.
 */
export interface TokenReader extends JSONScanner {
  /** Reads the next token and returns its kind; a comment is returned only if it never ends. */
  next(): number;
}

export function createTokenReader(text: string): TokenReader {
  const scanner: JSONScanner = createScanner(text, false);
  const next = (): number => {
    for (;;) {
      // The scanner would make a string of the white space, a character at a time.
      const start = scanner.getPosition();
      let end = start;
      while (isSpace(text.charCodeAt(end))) end++;
      if (end > start) scanner.setPosition(end);
      const kind: number = scanner.scan();
      const isComment = kind === TOKEN.lineComment || kind === TOKEN.blockComment;
      const fault: number = scanner.getTokenError();
      if (!isComment || fault === FAULT.openComment) return kind;
    }
  };
  return { ...scanner, next };
}

/** Space, tab, line feed and carriage return: all the white space that JSON has. */
function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}

/**
 * Finds the path of the config's `state`, even in a text with errors; `null` if there is none. With unbalanced braces,
 * the key may be deeper: the first of those counts if there is none at the top.
 */
export function findStatePath(text: string): string | null {
  const reader = createTokenReader(text);
  let deeper: string | null = null;
  let depth = 0;
  for (let token = reader.next(); token !== TOKEN.end;) {
    if (token === TOKEN.openBrace) depth++;
    if (token === TOKEN.closeBrace) depth--;
    const isKey = token === TOKEN.string && reader.getTokenValue() === "state";
    token = reader.next();
    if (!isKey || token !== TOKEN.colon) continue;
    token = reader.next();
    const path = reader.getTokenValue();
    if (token !== TOKEN.string || reader.getTokenError() !== 0 || path === "") continue;
    if (depth === 1) return path;
    deeper ??= path;
  }
  return deeper;
}
