import { replaceUnsafe } from "./printable.ts";

/**
 * Returns a value as JSON that is also safe to print: characters that control a terminal, and those that some parsers
 * treat as a newline (U+0085, U+2028, U+2029), are escaped. Parsing returns the same value. Without an indentation,
 * everything is on one line.
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

/** Returns a value as a JSON document for people and programs. */
export function jsonDocument(value: unknown): string {
  return `${jsonText(value, 2)}\n`;
}

/** Returns a value as JSON on a line of its own. */
export function jsonLine(value: unknown): string {
  return `${jsonText(value)}\n`;
}
