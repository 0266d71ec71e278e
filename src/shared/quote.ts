import { truncate } from "./truncate.ts";

/** Longer texts are truncated. */
export const QUOTED_LENGTH_MAX = 200;

/** Quotes a foreign text on one line. Invisible characters become escapes: they may be the only difference. */
export function quote(text: string): string {
  return `"${truncate(text, QUOTED_LENGTH_MAX).replace(/[\p{Cc}\p{Cf}]/gu, escape)}"`;
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escape(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return SHORT_ESCAPES[character] ??
    (code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u{${code}}`);
}
