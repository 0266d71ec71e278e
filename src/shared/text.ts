import { lazily } from "./lazily.ts";

/** Returns the beginning of a text, at most so many UTF-16 code units, an ellipsis included. The result is well-formed. */
export function truncate(text: string, lengthMax: number): string {
  if (lengthMax <= 0) return "";
  if (text.length <= lengthMax) return text.toWellFormed();
  return `${text.slice(0, lengthMax - 1).replace(/[\ud800-\udbff]$/, "")}…`.toWellFormed();
}

/**
 * The same in bytes of UTF-8. Not with `encodeInto()`: after some thousand calls, Deno 2.7.11 returns for a Latin-1 text
 * the number of characters that were read.
 */
export function truncateBytes(text: string, bytesMax: number): string {
  if (BYTES_PER_UNIT_MAX * text.length <= bytesMax) return text;
  const bytes = encoder.encode(text);
  if (bytes.length <= bytesMax) return text;
  // As a stream, the decoder keeps back a character that is cut.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return `${decoder.decode(bytes.subarray(0, bytesMax - ELLIPSIS_BYTES), { stream: true })}…`;
}

/** A UTF-16 code unit has at most three bytes in UTF-8. */
const BYTES_PER_UNIT_MAX = 3;
const encoder = new TextEncoder();
const ELLIPSIS_BYTES = encoder.encode("…").length;

/** Returns a foreign text as one line without control characters, such as a reason from a server or a command. */
export function oneLine(text: string, lengthMax = 200): string {
  const line = text.slice(0, 16 * lengthMax).replace(/[\s\p{Cc}\p{Cf}\p{Cs}]+/gu, " ").trim();
  return truncate(line, lengthMax);
}

export function firstItems(items: readonly string[], countMax: number): readonly string[] {
  const rest = items.length - countMax;
  return rest > 0 ? [...items.slice(0, countMax), `and ${rest} more`] : items;
}

const LINES_MAX = 20;
const CHARACTERS_MAX = 8192;

/** Returns the last lines of a job's output. Of a line that overwrote itself, as progress bars do, only the last text. */
export function lastLines(text: string): string {
  const lines = text.trimEnd().split("\n").map((line) => line.trimEnd().split("\r").at(-1) ?? "");
  return lines.slice(-LINES_MAX).join("\n").slice(-CHARACTERS_MAX).toWellFormed();
}

export const QUOTED_LENGTH_MAX = 200;

/** Quotes a foreign text on one line. Invisible characters become escapes: they may be the only difference. */
export function quote(text: string): string {
  return `"${truncate(text, QUOTED_LENGTH_MAX).replace(/[\p{Cc}\p{Cf}]/gu, visible)}"`;
}

/** A word as a POSIX shell reads it back. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) && !word.startsWith("~")
    ? word
    : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Returns a count with its noun, such as `1 check` and `2 checks`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

// Names, titles and outputs come from configs and targets. No escape sequence, bidi override or forged newline of theirs
// may reach a terminal.

/**
 * Control characters, line and paragraph separators, bidi marks, invisible formatting, tags, no characters, and lone
 * surrogates. Joiners and variation selectors stay: scripts and emoji need them.
 */
const unsafe = lazily(() =>
  /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu
);

/** Select Graphic Rendition: the escape sequences that set colors, in their seven-bit and eight-bit form. */
const COLOR_SEQUENCE = new RegExp("(?:\u001b\\[|\u009b)[0-9;:]*m", "g");

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\f": "\\f",
  "\v": "\\v",
};

/**
 * Makes a text safe for one line of a terminal. Control characters become escapes such as `\x1b`; color sequences are
 * dropped, a tab becomes a space, invalid characters become U+FFFD.
 */
export function printable(text: string): string {
  return replaceUnsafe(
    text.replace(COLOR_SEQUENCE, ""),
    (character) => character === "\t" ? " " : visible(character),
  );
}

/** Like {@link printable} for several lines: line breaks stay as line feeds, a tab becomes four spaces. */
export function printableBlock(text: string): string {
  return replaceUnsafe(text.replace(COLOR_SEQUENCE, "").replaceAll("\r\n", "\n"), (character) => {
    if (character === "\n") return character;
    return character === "\t" ? "    " : visible(character);
  });
}

/**
 * Returns whether a text is of printable ASCII alone. Most are; the engine takes up to a millisecond to make an expression
 * with classes of Unicode.
 */
export function isPlain(text: string): boolean {
  return !NOT_PLAIN.test(text);
}

const NOT_PLAIN = /[^\x20-\x7e]/;

/** Replaces each character that must not reach a terminal; `replace` gets a code point or a lone surrogate. */
export function replaceUnsafe(text: string, replace: (character: string) => string): string {
  return isPlain(text) ? text : text.replace(unsafe(), replace);
}

function visible(character: string): string {
  const short = SHORT_ESCAPES[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  if (isNoCharacter(code)) return "\ufffd";
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${code.toString(16).padStart(4, "0")}` : `\\u{${code.toString(16)}}`;
}

/** Surrogates and noncharacters (Unicode, section 23.7). */
function isNoCharacter(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff || code >= 0xfdd0 && code <= 0xfdef || (code & 0xfffe) === 0xfffe;
}

/**
 * Returns a value as JSON that is safe to print: characters that control a terminal, or that some parsers treat as a
 * newline, are escaped. Without an indentation it is one line.
 */
export function jsonText(value: unknown, indent = 0): string {
  // A raw line feed can only be layout here: inside strings JSON escapes it.
  return replaceUnsafe(
    JSON.stringify(value, null, indent),
    (character) => character === "\n" ? character : escapeUnits(character),
  );
}

function escapeUnits(character: string): string {
  return character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
}

export function jsonDocument(value: unknown): string {
  return `${jsonText(value, 2)}\n`;
}

export function jsonLine(value: unknown): string {
  return `${jsonText(value)}\n`;
}

export function decodeComponent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

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

export function joinBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
