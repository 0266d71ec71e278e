import { type ConfigPath, describePath, type PlacedProblem, type Problem } from "./problem.ts";
import { createTokenReader, TOKEN } from "./tokens.ts";

interface Position {
  /** From 1. Lines end with LF, CRLF or CR. */
  readonly line: number;
  /** From 1, in UTF-16 code units. */
  readonly column: number;
}

/**
 * Returns a function that locates problems in a text with valid syntax, or problems with an offset in any text. It is
 * lazy: it reads the lines at the first problem, and an object or a list for the first place in it.
 */
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
    tokens.jump(offset);
    const open = tokens.next();
    if (open !== TOKEN.openBrace && open !== TOKEN.openBracket) return entries;
    for (let token = tokens.next();; token = tokens.next()) {
      if (token === TOKEN.comma) continue;
      if (token === TOKEN.closeBrace || token === TOKEN.closeBracket || token === TOKEN.end) return entries;
      const name = tokens.offset();
      let key: string | number = entries.size;
      if (open === TOKEN.openBrace) {
        key = tokens.value();
        tokens.next();
        token = tokens.next();
      }
      const value = tokens.offset();
      skipValue(token);
      if (!entries.has(key)) entries.set(key, { name, value });
    }
  };

  return (path, at) => {
    tokens.jump(0);
    tokens.next();
    let value = tokens.offset();
    let found = value;
    for (const segment of path) {
      let entries = containers.get(value);
      if (entries === undefined) containers.set(value, entries = readEntries(value));
      const entry = entries.get(segment);
      if (entry === undefined) break;
      value = entry.value;
      found = entry[at];
    }
    return found;
  };
}

function findLineStarts(text: string): readonly number[] {
  const lineFeed = 10;
  const carriageReturn = 13;
  const starts = [0];
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === lineFeed || (code === carriageReturn && text.charCodeAt(index + 1) !== lineFeed)) {
      starts.push(index + 1);
    }
  }
  return starts;
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
