/**
 * Names, titles and outputs come from configs and targets. No escape sequence, bidi override or forged newline of theirs
 * may reach a terminal.
 */

/**
 * Control characters, line and paragraph separators, bidi marks, invisible formatting, tags, no characters, and lone
 * surrogates. Joiners and variation selectors stay: scripts and emoji need them.
 */
const UNSAFE =
  /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Select Graphic Rendition: the escape sequences that set colors, in their seven-bit and eight-bit form. */
const COLOR_SEQUENCE = new RegExp("(?:\u001b\\[|\u009b)[0-9;:]*m", "g");

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  "\n": "\\n",
  "\r": "\\r",
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

/** Replaces each character that must not reach a terminal; `replace` gets a code point or a lone surrogate. */
export function replaceUnsafe(text: string, replace: (character: string) => string): string {
  return text.replace(UNSAFE, replace);
}

function visible(character: string): string {
  const short = SHORT_ESCAPES[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  if (NO_CHARACTER.test(character)) return "\ufffd";
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${code.toString(16).padStart(4, "0")}` : `\\u{${code.toString(16)}}`;
}

const NO_CHARACTER = /[\p{Cs}\p{Noncharacter_Code_Point}]/u;

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
