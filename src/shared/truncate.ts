/** Returns the beginning of a text, at most so many UTF-16 code units, an ellipsis included. The result is well-formed. */
export function truncate(text: string, lengthMax: number): string {
  if (lengthMax <= 0) return "";
  if (text.length <= lengthMax) return text.toWellFormed();
  return `${text.slice(0, lengthMax - 1).replace(/[\ud800-\udbff]$/, "")}…`.toWellFormed();
}

/**
 * Returns the beginning of a text, at most so many bytes of UTF-8, an ellipsis included.
 *
 * Not with `encodeInto()`: once it was called some thousand times, Deno 2.7.11 returns the bytes of a Latin-1 text as the
 * number of characters that were read.
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
