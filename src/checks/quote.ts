const QUOTED_LENGTH_MAX = 200;

/**
 * A quotation on one line, as it was sent except that it may be shortened: what cannot be seen is shown as an escape,
 * since a text that differs in nothing else would seem to be the same.
 */
export function quote(text: string): string {
  return `"${shorten(text).replace(/\r\n|\r|\n/g, "\\n").replace(/[\p{Cc}\p{Cf}]/gu, escape)}"`;
}

function escape(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return character === "\t" ? "\\t" : code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u{${code}}`;
}

/** Does not cut a surrogate pair in two. */
export function shorten(text: string): string {
  if (text.length <= QUOTED_LENGTH_MAX) return text;
  return `${text.slice(0, QUOTED_LENGTH_MAX).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** An address without credentials, query and fragment, which nobody else is to see. */
export function describeTarget(target: string): string {
  const { origin, pathname } = new URL(target);
  return shorten(`${origin}${pathname}`);
}
