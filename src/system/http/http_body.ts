import { once } from "node:events";
import type { Transform } from "node:stream";
import type { ByteReader } from "./http_bytes.ts";
import { headerOf, HttpError, isField, type ResponseHead } from "./http_head.ts";

/** Reads what comes next of a body; `null`: it was whole. */
export type ReadBody = () => Promise<Uint8Array<ArrayBuffer> | null>;

/**
 * Finds out where the body of a response ends (RFC 9112, section 6.3); `null`: it has none.
 *
 * @throws {HttpError} If its length is malformed.
 */
export function bodyReader(
  head: ResponseHead,
  { bytes, method }: { readonly bytes: ByteReader; readonly method: string },
): ReadBody | null {
  const { status, minorVersion } = head;
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return null;
  const codings = headerOf(head, "transfer-encoding");
  if (codings !== null) {
    if (minorVersion === "0") {
      throw new HttpError("head", "answer has a transfer-encoding that its HTTP version does not have");
    }
    return /(?:^|[,\s])chunked\s*$/i.test(codings) ? readChunks(bytes) : readToEnd(bytes);
  }
  const lengths = headerOf(head, "content-length")?.split(",").map((text) => text.trim());
  if (lengths === undefined) return readToEnd(bytes);
  const [length = ""] = lengths;
  if (!/^\d+$/.test(length) || lengths.some((other) => other !== length)) {
    throw new HttpError("head", "answer has a malformed content-length");
  }
  return Number(length) === 0 ? null : readLength(bytes, Number(length));
}

/** What is said of a body that did not come whole. */
export const BODY_BROKEN = "connection ended early or what came is malformed";

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

/** What is to come: the size of a chunk, the rest of its data, the end of its data, a trailer field, or nothing. */
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
      isField(line.slice(0, -1));
    if (!isAccepted) throw malformed();
    return "trailer";
  };
  const decode = (): Uint8Array<ArrayBuffer>[] => {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    while (state !== "end" && bytes.size > 0) {
      if (typeof state === "object") {
        const part = bytes.take(state.left);
        const left = state.left - part.length;
        parts.push(part);
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
    return parts;
  };
  return async () => {
    for (;;) {
      const parts = decode();
      if (parts.length > 0) return joined(parts);
      if (state === "end") return null;
      if (!await bytes.fill()) throw malformed();
    }
  };
}

function joined(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let start = 0;
  for (const part of parts) {
    whole.set(part, start);
    start += part.length;
  }
  return whole;
}

/** Up to here a body is read in one go. */
const SMALL_BODY_BYTES_MAX = 1024 * 1024;

/**
 * Whether a body is small by its declared length. To read a stream costs 130 µs in this runtime. `Content-Length` bounds
 * only what is not encoded.
 */
export function hasSmallBody(header: (name: string) => string | null): boolean {
  const length = header("content-length");
  return length !== null && Number(length) <= SMALL_BODY_BYTES_MAX && header("content-encoding") === null;
}

/** Reads a body to its end. */
export async function readAll(read: ReadBody): Promise<Uint8Array> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let part = await read(); part !== null; part = await read()) parts.push(part);
  return joined(parts);
}

/** A body as a stream that is read only as far as somebody asks, and decompressed. */
export function bodyStream(read: ReadBody, contentEncoding: string | null): ReadableStream<Uint8Array> {
  const makeDecoder = DECODERS[codingOf(contentEncoding)];
  return ReadableStream.from(makeDecoder === undefined ? partsOf(read) : decompressed(read, makeDecoder));
}

/** Whether {@linkcode bodyStream} decompresses. */
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

async function* partsOf(read: ReadBody): AsyncGenerator<Uint8Array, void> {
  for (let part = await read(); part !== null; part = await read()) yield part;
}

async function* decompressed(
  read: ReadBody,
  makeDecoder: () => Promise<Transform>,
): AsyncGenerator<Uint8Array, void> {
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

/** Hands a body to a decoder, no faster than somebody reads what becomes of it. */
async function feed(decoder: Transform, first: Uint8Array, read: ReadBody): Promise<void> {
  for (let part: Uint8Array | null = first; part !== null; part = await read()) {
    if (decoder.destroyed) return;
    if (!decoder.write(part)) await once(decoder, "drain");
  }
  decoder.end();
}
