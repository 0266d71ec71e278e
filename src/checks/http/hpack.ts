/** Headers of HTTP/2 (RFC 7541), as much as a client needs that reads one response. */
import { joinBytes } from "../../shared/join_bytes.ts";

export type Header = readonly [name: string, value: string];

/** Encodes headers as literals that no table keeps. */
export function encodeHeaders(headers: readonly Header[]): Uint8Array {
  const text = (content: string): Uint8Array => {
    const bytes = new TextEncoder().encode(content);
    return joinBytes([encodeLength(bytes.length), bytes]);
  };
  return joinBytes(
    headers.flatMap(([name, value]) => [Uint8Array.of(0), text(name), text(value)]),
  );
}

/** An integer with a prefix of 7 bits (section 5.1). */
function encodeLength(length: number): Uint8Array {
  return Uint8Array.from(length < 127 ? [length] : [127, ...varint(length - 127)]);
}

/** Seven bits a byte, the least significant first. */
export function varint(value: number): readonly number[] {
  return value < 128 ? [value] : [value % 128 + 128, ...varint(Math.floor(value / 128))];
}

const TABLE_BYTES_MAX = 4096;

/** Decodes the header blocks of a connection, in their order. */
export class HeaderDecoder {
  readonly #dynamic: Header[] = [];
  #block: Uint8Array = new Uint8Array();
  #at = 0;

  /** Returns the headers of a block; `null`: it is malformed. */
  decode(block: Uint8Array): readonly Header[] | null {
    this.#block = block;
    this.#at = 0;
    const headers: Header[] = [];
    while (this.#at < block.length) {
      const first = block[this.#at] ?? 0;
      // A new size of the table: the entries that are too many are never referred to.
      if (first >> 5 === 1) {
        this.#integer(5);
        continue;
      }
      const isIndexed = first >> 7 === 1;
      const isKept = first >> 6 === 1;
      const index = this.#integer(isIndexed ? 7 : isKept ? 6 : 4);
      const known = index === 0 ? undefined : this.#entry(index);
      if (index > 0 && known === undefined) return null;
      const name = known === undefined ? this.#text() : known[0];
      const value = isIndexed ? known?.[1] ?? null : this.#text();
      if (name === null || value === null) return null;
      if (isKept) this.#keep([name, value]);
      headers.push([name, value]);
    }
    return this.#at === block.length ? headers : null;
  }

  #entry(index: number): Header | undefined {
    return STATIC[index - 1] ?? this.#dynamic[index - 1 - STATIC.length];
  }

  #keep(header: Header): void {
    this.#dynamic.unshift(header);
    const sizeOf = ([name, value]: Header): number => name.length + value.length + 32;
    let size = this.#dynamic.reduce((sum, one) => sum + sizeOf(one), 0);
    while (size > TABLE_BYTES_MAX) {
      const last = this.#dynamic.pop();
      if (last === undefined) return;
      size -= sizeOf(last);
    }
  }

  #integer(bits: number): number {
    const limit = 2 ** bits - 1;
    let value = (this.#block[this.#at++] ?? 0) & limit;
    if (value < limit) return value;
    for (let shift = 1; shift < 2 ** 28; shift *= 128) {
      const byte = this.#block[this.#at++] ?? 0;
      value += (byte & 127) * shift;
      if (byte < 128) break;
    }
    return value;
  }

  #text(): string | null {
    const isCoded = (this.#block[this.#at] ?? 0) >> 7 === 1;
    const length = this.#integer(7);
    const bytes = this.#block.subarray(this.#at, this.#at + length);
    this.#at += length;
    return this.#at > this.#block.length ? null : isCoded ? decodeHuffman(bytes) : latin1(bytes);
  }
}

function latin1(bytes: Iterable<number>): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

/** The lengths of the codes of all bytes (appendix B); codes of one length are in the order of the bytes. */
const CODE_LENGTHS = `
  13 23 28 28 28 28 28 28 28 24 30 28 28 30 28 28 28 28 28 28 28 28 30 28 28 28 28 28 28 28 28 28
  6 10 10 12 13 6 8 11 10 10 8 11 8 6 6 6 5 5 5 6 6 6 6 6 6 6 7 8 15 6 12 10
  13 6 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 8 7 8 13 19 13 14 6
  15 5 6 5 6 5 6 6 6 5 7 7 6 6 6 5 6 7 6 5 5 6 7 7 7 7 7 15 11 14 13 28
  20 22 20 20 22 22 22 23 22 23 23 23 23 23 24 23 24 24 22 23 24 23 23 23 23 21 22 23 22 23 23 24
  22 21 20 22 22 23 23 21 23 22 22 24 21 22 23 23 21 21 22 21 23 22 23 23 20 22 22 22 23 22 22 23
  26 26 20 19 22 23 22 25 26 26 26 27 27 26 24 25 19 21 26 27 27 26 27 24 21 21 26 26 28 27 27 27
  20 24 20 21 22 21 21 23 22 22 25 25 24 24 26 23 26 27 26 26 27 27 27 27 27 28 27 27 27 27 27 26
`.trim().split(/\s+/).map(Number);

const CODE_LENGTH_MAX = 30;

/** The byte of each code, by its bits with a 1 in front. */
let codes: ReadonlyMap<number, number> | null = null;

function readCodes(): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  let code = 0;
  for (let length = 1; length <= CODE_LENGTH_MAX; length++) {
    code *= 2;
    for (const [byte, one] of CODE_LENGTHS.entries()) {
      if (one === length) found.set(2 ** length + code++, byte);
    }
  }
  return found;
}

function decodeHuffman(bytes: Uint8Array): string | null {
  codes ??= readCodes();
  const decoded: number[] = [];
  let code = 1;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      code = code * 2 + (byte >> bit & 1);
      const found = codes.get(code);
      if (found !== undefined) {
        decoded.push(found);
        code = 1;
      } else if (code >= 2 ** (CODE_LENGTH_MAX + 1)) return null;
    }
  }
  return latin1(decoded);
}

/** Appendix A. */
const STATIC: readonly Header[] = `:authority|:method GET|:method POST|:path /|:path /index.html|:scheme http|
:scheme https|:status 200|:status 204|:status 206|:status 304|:status 400|:status 404|:status 500|accept-charset|
accept-encoding gzip, deflate|accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|
authorization|cache-control|content-disposition|content-encoding|content-language|content-length|content-location|
content-range|content-type|cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|
if-range|if-unmodified-since|last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|
referer|refresh|retry-after|server|set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|
www-authenticate`.replaceAll("\n", "").split("|").map((line) => {
  const [name = "", ...value] = line.split(" ");
  return [name, value.join(" ")];
});
