import { createScanner, type Node, parseTree } from "jsonc-parser";
import { layOutJson } from "../shared/lay_out_json.ts";
import { TOKEN } from "./positions.ts";

/** The kinds of white space, numbered as {@linkcode TOKEN}. */
const LINE_BREAK = 14;
const SPACE = 15;

/** Adds checks to a valid text of a config; comments, indentation and newlines stay. */
export function addEntries(
  text: string,
  entries: readonly (readonly [name: string, value: unknown])[],
): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root === undefined) throw new SyntaxError("The text has no value");
  const section = propertiesOf(root).find((property) => property.children?.[0]?.value === "checks")?.children
    ?.[1];
  const indent = indentOf(text, root);
  return section === undefined
    ? insertInto(text, root, { indent, entries: [["checks", Object.fromEntries(entries)]] })
    : insertInto(text, section, { indent, entries });
}

function propertiesOf(object: Node): readonly Node[] {
  return object.children ?? [];
}

interface Insertion {
  readonly indent: string;
  readonly entries: readonly (readonly [name: string, value: unknown])[];
}

function indentOf(text: string, root: Node): string {
  const [first] = propertiesOf(root);
  return first !== undefined && startsLine(text, first.offset) && marginAt(text, first.offset) || "  ";
}

function insertInto(text: string, object: Node, { indent, entries }: Insertion): string {
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  const outer = marginAt(text, object.offset);
  const last = propertiesOf(object).at(-1);
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
