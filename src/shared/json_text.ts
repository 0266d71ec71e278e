import { replaceUnsafe } from "./printable.ts";

interface JsonTextOptions {
  /** Spaces a level; 0 puts everything on one line. */
  readonly indent: number;
}

/**
 * Returns a value as JSON that is also safe to print: characters that control a terminal, and those that some parsers
 * treat as a newline (U+0085, U+2028, U+2029), are escaped. Parsing returns the same value.
 */
export function jsonText(value: unknown, options: JsonTextOptions): string {
  // A raw line feed can only be layout here: inside strings JSON escapes it.
  return replaceUnsafe(
    JSON.stringify(value, null, options.indent),
    (character) => character === "\n" ? character : escapeUnits(character),
  );
}

function escapeUnits(character: string): string {
  return character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
}

/** Returns a value as a JSON document for people and programs. */
export function jsonDocument(value: unknown): string {
  return `${jsonText(value, { indent: 2 })}\n`;
}

/** Returns a value as JSON on a line of its own. */
export function jsonLine(value: unknown): string {
  return `${jsonText(value, { indent: 0 })}\n`;
}
