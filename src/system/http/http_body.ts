import { once } from "node:events";
import type { Transform } from "node:stream";
import type { ByteReader } from "./http_bytes.ts";
import { headerOf, HttpError, parseField, type ResponseHead } from "./http_head.ts";

/** Reads the next part of a body; `null`: it was complete. The bytes are valid until the next call. */
export type ReadBody = () => Promise<Uint8Array | null>;

/** Finds out where the body of a response ends (RFC 9112, 6.3); `null`: it has none. Throws an {@linkcode HttpError}. */
export function bodyReader(
  head: ResponseHead,
  { bytes, method }: { readonly bytes: ByteReader; readonly method: string },
): ReadBody | null {
  const { status, minorVersion } = head;
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return null;
  const codings = headerOf(head, "transfer-encoding");
  if (codings !== null) {
    if (minorVersion === "0") {
      throw new HttpError("head", "response has a transfer-encoding that its HTTP version does not have");
    }
    return /(?:^|[,\s])chunked\s*$/i.test(codings) ? readChunks(bytes) : readToEnd(bytes);
  }
  const lengths = headerOf(head, "content-length")?.split(",").map((text) => text.trim());
  if (lengths === undefined) return readToEnd(bytes);
  const [length = ""] = lengths;
  if (!/^\d+$/.test(length) || lengths.some((other) => other !== length)) {
    throw new HttpError("head", "response has a malformed content-length");
  }
  return Number(length) === 0 ? null : readLength(bytes, Number(length));
}

export const BODY_BROKEN = "connection closed early or malformed body";

function malformed(): HttpError {
  return new HttpError("body", BODY_BROKEN);
}

function readToEnd(bytes: ByteReader): ReadBody {
  return async () => bytes.size > 0 || await bytes.fill() ? bytes.take(Infinity) : null;
}

function readLength(bytes: ByteReader, length: number): ReadBody {
  let left = length;
  return async () => {
    if (left === 0) return null;
    if (bytes.size === 0 && !await bytes.fill()) throw malformed();
    const part = bytes.take(left);
    left -= part.length;
    return part;
  };
}

/** A line between chunks, and all trailer fields together. */
const LINE_BYTES_MAX = 16_384;
const CHUNK_SIZE = /^([0-9a-f]{1,13})[\t ]*(?:;[^\r]*)?\r$/i;

/** The next part: the size of a chunk, the rest of its data, the end of its data, a trailer field, or nothing. */
type ChunkState = "size" | { readonly left: number } | "data end" | "trailer" | "end";

/** Section 7.1. All that came is decoded in one piece, however small the chunks are. */
function readChunks(bytes: ByteReader): ReadBody {
  let state: ChunkState = "size";
  let trailerBytes = 0;
  const stateAfter = (line: string, before: "size" | "data end" | "trailer"): ChunkState => {
    if (before === "size") {
      const [, digits] = CHUNK_SIZE.exec(line) ?? [];
      if (digits === undefined) throw malformed();
      const left = Number.parseInt(digits, 16);
      return left === 0 ? "trailer" : { left };
    }
    if (line === "\r") return before === "trailer" ? "end" : "size";
    trailerBytes += line.length;
    const isAccepted = before === "trailer" && trailerBytes <= LINE_BYTES_MAX && line.endsWith("\r") &&
      parseField(line.slice(0, -1)) !== null;
    if (!isAccepted) throw malformed();
    return "trailer";
  };
  /** The decoded data; empty: nothing yet. */
  const decode = (): Uint8Array => {
    let whole: Uint8Array = NOTHING;
    while (state !== "end" && bytes.size > 0) {
      if (typeof state === "object") {
        const part = bytes.take(state.left);
        const left = state.left - part.length;
        whole = appended(whole, part);
        state = left === 0 ? "data end" : { left };
        continue;
      }
      const line = bytes.line();
      if (line === null) {
        if (bytes.size > (state === "data end" ? 1 : LINE_BYTES_MAX)) throw malformed();
        break;
      }
      state = stateAfter(line, state);
    }
    return whole;
  };
  return async () => {
    for (;;) {
      const part = decode();
      if (part.length > 0) return part;
      if (state === "end") return null;
      if (!await bytes.fill()) throw malformed();
    }
  };
}

const NOTHING = new Uint8Array();

/** Moves a part to the end of those before it: they are in one buffer, with the bytes between chunks between them. */
function appended(whole: Uint8Array, part: Uint8Array): Uint8Array {
  if (whole.length === 0) return part;
  const longer = new Uint8Array(whole.buffer, whole.byteOffset, whole.length + part.length);
  longer.set(part, whole.length);
  return longer;
}

export function decoded(read: ReadBody, contentEncoding: string | null): ReadBody {
  const makeDecoder = DECODERS[codingOf(contentEncoding)];
  if (makeDecoder === undefined) return read;
  const parts = decompressed(read, makeDecoder);
  return async () => {
    const { done, value } = await parts.next();
    return done === true ? null : value;
  };
}

export function isCompressed(contentEncoding: string | null): boolean {
  return Object.hasOwn(DECODERS, codingOf(contentEncoding));
}

function codingOf(contentEncoding: string | null): string {
  return contentEncoding?.trim().toLowerCase() ?? "";
}

/** Not the runtime's `DecompressionStream`, which decompresses a piece whole, however much becomes of it. */
const DECODERS: Readonly<Record<string, () => Promise<Transform>>> = {
  "gzip": async () => (await import("node:zlib")).createGunzip(),
  "x-gzip": async () => (await import("node:zlib")).createGunzip(),
  "br": async () => (await import("node:zlib")).createBrotliDecompress(),
};

async function* decompressed(read: ReadBody, makeDecoder: () => Promise<Transform>) {
  const first = await read();
  // Nothing at all is no compressed data that was cut short.
  if (first === null) return;
  const decoder = await makeDecoder();
  feed(decoder, first, read).catch((error: Error) => decoder.destroy(error));
  try {
    yield* decoder;
  } catch (error) {
    if (error instanceof HttpError) throw error;
    const isCut = error instanceof Error && "code" in error && error.code === "Z_BUF_ERROR";
    throw new HttpError("body", `compressed data is ${isCut ? "cut short" : "malformed"}`);
  } finally {
    decoder.destroy();
  }
}

/** Passes a body to a decoder, no faster than the result is read. */
async function feed(decoder: Transform, first: Uint8Array, read: ReadBody): Promise<void> {
  for (let part: Uint8Array | null = first; part !== null; part = await read()) {
    if (decoder.destroyed) return;
    // It keeps its argument, and `part` is overwritten.
    if (!decoder.write(part.slice())) await once(decoder, "drain");
  }
  decoder.end();
}
