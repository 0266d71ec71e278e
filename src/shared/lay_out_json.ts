import { jsonText } from "./text.ts";

interface LayoutOptions {
  /** The indentation of a deeper level, such as two spaces. */
  readonly indent: string;
  /** The prefix of the lines after the first. */
  readonly margin: string;
  /** Columns before the value on its first line. */
  readonly column: number;
  readonly newline: string;
}

const WIDTH = 100;

/** Returns a value as JSON for people: objects and lists that fit stay on one line. */
export function layOutJson(value: unknown, { column, ...options }: LayoutOptions): string {
  const line = onOneLine(value);
  if (column + line.length <= WIDTH || typeof value !== "object" || value === null) return line;
  const margin = options.margin + options.indent;
  const lines = Object.entries(value).map(([key, item]) => {
    const name = Array.isArray(value) ? "" : `${jsonText(key)}: `;
    return margin + name + layOutJson(item, { ...options, margin, column: margin.length + name.length });
  });
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return [open, lines.join(`,${options.newline}`), options.margin + close].join(options.newline);
}

function onOneLine(value: unknown): string {
  if (typeof value !== "object" || value === null) return jsonText(value);
  const items = Object.entries(value).map(([key, item]) =>
    Array.isArray(value) ? onOneLine(item) : `${jsonText(key)}: ${onOneLine(item)}`
  );
  if (Array.isArray(value)) return `[${items.join(", ")}]`;
  return items.length === 0 ? "{}" : `{ ${items.join(", ")} }`;
}
