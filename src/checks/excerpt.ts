const LENGTH_MAX = 200;

/**
 * A quotation of what a target has sent, on one line: control characters are shown as escapes, what is no text as
 * U+FFFD, and it may be cut short, though not within a character.
 */
export function excerpt(text: string): string {
  const shown = text.length <= LENGTH_MAX
    ? text
    : `${text.slice(0, LENGTH_MAX).replace(/[\ud800-\udbff]$/, "")}…`;
  return `"${shown.replace(/\p{Cc}/gu, escape)}"`;
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escape(character: string): string {
  const code = character.charCodeAt(0).toString(16).padStart(2, "0");
  return SHORT_ESCAPES[character] ?? `\\x${code}`;
}
