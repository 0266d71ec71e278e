/** Returns a response header as text: `null` if it is missing, values of a repeated one joined with `, `. */
export function readHeader(headers: Headers, name: string): string | null {
  const value = headers.get(name);
  return value === null ? null : decodeHeader(value);
}

/**
 * Decodes a header.
 *
 * The runtime returns each byte as one character (RFC 9110, section 5.5, defines only opaque bytes beyond ASCII).
 * Servers that send such bytes mostly mean UTF-8, so valid UTF-8 is decoded as such.
 */
export function decodeHeader(value: string): string {
  if (!BEYOND_ASCII.test(value)) return value;
  try {
    return UTF_8.decode(Uint8Array.from(value, (character) => character.charCodeAt(0)));
  } catch {
    return value;
  }
}

const BEYOND_ASCII = /[\u0080-\u00ff]/;

const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
