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
  let end = bytesMax - ELLIPSIS_BYTES;
  while (isContinuation(bytes[end])) end--;
  return `${decoder.decode(bytes.subarray(0, end))}…`;
}

/** Returns whether a byte is a further one of a character (RFC 3629). */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000;
}

/** A UTF-16 code unit has at most three bytes in UTF-8. */
const BYTES_PER_UNIT_MAX = 3;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const ELLIPSIS_BYTES = encoder.encode("…").length;

/** Returns a foreign text as one line without control characters, such as a reason from a server or a command. */
export function oneLine(text: string, lengthMax = 200): string {
  const line = text.slice(0, 16 * lengthMax).replace(/[\s\p{Cc}\p{Cf}\p{Cs}]+/gu, " ").trim();
  return truncate(line, lengthMax);
}

/** Returns the first items of a list, and how many more there are. */
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
