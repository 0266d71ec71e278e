/** Returns the beginning of a text, at most so many UTF-16 code units, an ellipsis included. The result is well-formed. */
export function truncate(text: string, lengthMax: number): string {
  if (lengthMax <= 0) return "";
  if (text.length <= lengthMax) return text.toWellFormed();
  return `${text.slice(0, lengthMax - 1).replace(/[\ud800-\udbff]$/, "")}…`.toWellFormed();
}

/** Returns the beginning of a text, at most so many bytes of UTF-8, an ellipsis included. */
export function truncateBytes(text: string, bytesMax: number): string {
  const whole = encoder.encodeInto(text, new Uint8Array(bytesMax));
  if (whole.read === text.length) return text;
  const { read } = encoder.encodeInto(text, new Uint8Array(bytesMax - ELLIPSIS_BYTES));
  return `${text.slice(0, read)}…`;
}

const encoder = new TextEncoder();
const ELLIPSIS_BYTES = encoder.encode("…").length;

/** Returns a foreign text as one line without control characters, such as a reason from a server or a command. */
export function oneLine(text: string, lengthMax = 200): string {
  const line = text.slice(0, 16 * lengthMax).replace(/[\s\p{Cc}\p{Cf}\p{Cs}]+/gu, " ").trim();
  return truncate(line, lengthMax);
}
