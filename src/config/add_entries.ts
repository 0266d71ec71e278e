import { createScanner, findNodeAtLocation, type Node, parseTree } from "jsonc-parser";
import { layOutJson } from "../shared/text.ts";
import { TOKEN } from "./positions.ts";

/** The kinds of white space, numbered as {@linkcode TOKEN}. */
const LINE_BREAK = 14;
const SPACE = 15;

/** Adds entries to a section of a valid text of a config, which may be missing; comments, indentation and newlines stay. */
export function addEntries(
  text: string,
  entries: readonly (readonly [name: string, value: unknown])[],
  section = "checks",
): string {
  const root = parseRoot(text);
  const object = findNodeAtLocation(root, [section]);
  const indent = indentOf(text, root);
  if (object !== undefined) return insertInto(text, object, { indent, entries });
  return insertInto(text, root, { indent, entries: [[section, Object.fromEntries(entries)]] });
}

function parseRoot(text: string): Node {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root === undefined) throw new SyntaxError("The text has no value");
  return root;
}

/** An element of a list to come: it stays, with or without another value, or it is new. */
export interface ListElement {
  /** `null`: the one that it has. */
  readonly value: string | null;
  /** The index in the present list of the element whose place and comments it has; `null`: it is new. */
  readonly at: number | null;
}

/**
 * Returns the text of a config with another list of texts in place of one. Elements stay in their order, and so do
 * comments: also those above an element that goes.
 */
export function replaceList(
  text: string,
  path: readonly (string | number)[],
  elements: readonly ListElement[],
): string {
  const root = parseRoot(text);
  const list = findNodeAtLocation(root, [...path]);
  if (list === undefined) throw new SyntaxError("The text has no such list");
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  const nodes = list.children ?? [];
  const [first] = nodes;
  const isOnOneLine = first !== undefined && !startsLine(text, first.offset);
  const outer = marginAt(text, list.offset);
  const margin = first === undefined ? outer + indentOf(text, root) : marginAt(text, first.offset);
  let start = list.offset + 1;
  const present = nodes.map(({ offset, length }) => {
    const { hasComma, end } = endOfEntry(text, offset + length);
    const behind = text.slice(offset + length, end);
    const before = text.slice(start, offset);
    start = end;
    return { before, written: text.slice(offset, offset + length), behind, hasComma };
  });
  const hasLastComma = present.at(-1)?.hasComma ?? false;
  let [result, next] = ["", 0];
  const skipTo = (index: number): void => {
    // What stands above an element that goes, without its own line.
    for (const { before } of present.slice(next, index)) result += before.replace(/\s*$/, "");
    next = index;
  };
  for (const [index, { value, at }] of elements.entries()) {
    const comma = index < elements.length - 1 || hasLastComma ? "," : "";
    if (at === null) {
      const isFirst = result === "";
      result += (isOnOneLine ? (isFirst ? "" : " ") : newline + margin) + JSON.stringify(value) + comma;
      continue;
    }
    skipTo(at);
    const kept = present[at];
    if (kept === undefined) throw new RangeError("The list has no such element");
    const behind = kept.hasComma ? kept.behind.replace(",", "") : kept.behind;
    result += kept.before + (value === null ? kept.written : JSON.stringify(value)) + comma + behind;
    next = at + 1;
  }
  skipTo(present.length);
  const end = list.offset + list.length - 1;
  const tail = text.slice(start, end);
  const isSpread = result.includes("\n") && !tail.includes("\n");
  return text.slice(0, list.offset + 1) + result + (isSpread ? newline + outer : tail) + text.slice(end);
}

/**
 * Adds texts to a list of an object of a valid text of a config, or adds the list; comments, indentation and newlines
 * stay.
 */
export function setListIn(
  text: string,
  path: readonly string[],
  key: string,
  values: readonly string[],
): string {
  const root = parseRoot(text);
  const object = findNodeAtLocation(root, [...path]);
  if (object === undefined) throw new SyntaxError("The text has no such object");
  const list = findNodeAtLocation(root, [...path, key]);
  if (list?.type !== "array") {
    return insertInto(text, object, { indent: indentOf(text, root), entries: [[key, values]] });
  }
  const kept = (list.children ?? []).map((_, at) => ({ value: null, at }));
  if (kept.length > 0) {
    return replaceList(text, [...path, key], [...kept, ...values.map((value) => ({ value, at: null }))]);
  }
  const added = values.map((value) => JSON.stringify(value)).join(", ");
  return `${text.slice(0, list.offset)}[${added}]${text.slice(list.offset + list.length)}`;
}

interface Insertion {
  readonly indent: string;
  readonly entries: readonly (readonly [name: string, value: unknown])[];
}

function indentOf(text: string, root: Node): string {
  const first = root.children?.at(0);
  return first !== undefined && startsLine(text, first.offset) && marginAt(text, first.offset) || "  ";
}

function insertInto(text: string, object: Node, { indent, entries }: Insertion): string {
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  const outer = marginAt(text, object.offset);
  const last = object.children?.at(-1);
  const margin = last !== undefined && startsLine(text, last.offset)
    ? marginAt(text, last.offset)
    : outer + indent;
  const lines = entries.map(([name, value]) => {
    const head = `${margin}${JSON.stringify(name)}: `;
    return head + layOutJson(value, { indent, margin, column: head.length, newline });
  });
  const close = object.offset + object.length - 1;
  if (last === undefined) {
    const before = text.slice(0, close).trimEnd();
    return `${before}${newline}${lines.join(`,${newline}`)}${newline}${outer}${text.slice(close)}`;
  }
  const valueEnd = last.offset + last.length;
  const { hasComma, end } = endOfEntry(text, valueEnd);
  const added = newline + lines.join(`,${newline}`) + (hasComma ? "," : "");
  const rest = text.slice(end);
  // The object may end on the same line.
  const ending = /^\s*\}/.test(rest) && !/^[^}]*\n/.test(rest) ? newline + outer : "";
  const before = text.slice(0, valueEnd) + (hasComma ? "" : ",") + text.slice(valueEnd, end).trimEnd();
  return before + added + ending + (ending === "" ? rest : rest.trimStart());
}

/** Finds the end of the comma after a value, and of the comments behind it on the same line. */
function endOfEntry(text: string, valueEnd: number): { readonly hasComma: boolean; readonly end: number } {
  const scanner = createScanner(text, false);
  scanner.setPosition(valueEnd);
  let token: number = scanner.scan();
  while (isTrivia(token)) token = scanner.scan();
  const hasComma = token === TOKEN.comma;
  let end = hasComma ? scanner.getPosition() : valueEnd;
  scanner.setPosition(end);
  for (;;) {
    token = scanner.scan();
    const isOnLine = !text.slice(end, scanner.getPosition()).includes("\n");
    if (!isTrivia(token) || !isOnLine) return { hasComma, end };
    if (token !== SPACE) end = scanner.getPosition();
  }
}

function isTrivia(token: number): boolean {
  return [LINE_BREAK, SPACE, TOKEN.lineComment, TOKEN.blockComment].includes(token);
}

function startsLine(text: string, offset: number): boolean {
  return /(?:^|\n)[ \t]*$/.test(text.slice(0, offset));
}

function marginAt(text: string, offset: number): string {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start))?.[0] ?? "";
}
