import type { RequestFailure } from "../../domain/connections.ts";
import { once } from "node:events";
import type { Transform } from "node:stream";

/** Why no whole response came; the message is one line for people. */
export class HttpError extends Error {
  override readonly name = "HttpError";

  /** The reason begins with a small letter. */
  constructor(readonly phase: RequestFailure["phase"], reason: string) {
    super(reason);
  }
}

export interface ResponseHead {
  /** 100 to 999. */
  readonly status: number;
  /** In the order in which they came, with names in small letters; each byte of a value is a character. */
  readonly fields: readonly Field[];
  /** The digit behind `HTTP/1.`. */
  readonly minorVersion: "0" | "1";
}

type Field = readonly [name: string, value: string];

/** All heads before the body together, informational responses included. */
const HEADS_BYTES_MAX = 384 * 1024;
/** `Headers` compares each name with all others, so more would keep everything else waiting. */
const FIELDS_MAX = 5000;
/** They are read in one turn of the event loop, so a server could keep everything else waiting. */
const INFORMATIONAL_MAX = 100;

const BEGINNING = "HTTP/1.";
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d{2})(?: [\t \x21-\x7e\x80-\xff]*)?$/;

/** Reads the head of the final response (RFC 9112, 2 to 5), behind informational ones. Throws an {@linkcode HttpError}. */
export async function readHead(bytes: ByteReader): Promise<ResponseHead> {
  const takeLine = lineReader(bytes, HEADS_BYTES_MAX, () => new HttpError("head", "head is too large"));
  const more = async (): Promise<void> => {
    if (!await bytes.fill()) throw new HttpError("head", "connection closed before a response head");
  };
  for (let count = 0; count <= INFORMATIONAL_MAX; count++) {
    let first: string | null = "";
    while (first === "" || first === null) {
      if ((first = takeLine()) !== null) continue;
      refuseOther(bytes.peek(BEGINNING.length));
      await more();
    }
    const [, minorVersion, digits] = STATUS_LINE.exec(first) ?? [];
    if (digits === undefined) {
      const isHttp = /^HTTP\/1\.[01] /.test(first);
      throw new HttpError("head", isHttp ? "response has no valid status" : "response is not HTTP");
    }
    const fields: Field[] = [];
    for (let line = takeLine(); line !== ""; line = takeLine()) {
      if (line === null) {
        await more();
        continue;
      }
      const field = parseField(line);
      if (field === null) throw new HttpError("head", "response has a malformed header");
      if (fields.length === FIELDS_MAX) throw new HttpError("head", "head is too large");
      fields.push(field);
    }
    const status = Number(digits);
    // After 101 the connection uses another protocol, so no other head follows.
    if (status >= 200 || status === 101) {
      return { status, fields, minorVersion: minorVersion === "0" ? "0" : "1" };
    }
  }
  throw new HttpError("head", `more than ${INFORMATIONAL_MAX} informational responses (1xx)`);
}

/** Returns a function that takes the next line without its end; `null`: it has not arrived. */
function lineReader(bytes: ByteReader, bytesMax: number, tooLarge: () => Error): () => string | null {
  let leftBytes = bytesMax;
  return () => {
    const line = bytes.line();
    leftBytes -= line === null ? 0 : line.length + 1;
    if (leftBytes < (line === null ? bytes.size : 0)) throw tooLarge();
    return line?.endsWith("\r") ? line.slice(0, -1) : line;
  };
}

/** Data other than HTTP may have no lines at all. */
function refuseOther(beginning: string): void {
  if (BEGINNING.startsWith(beginning.replace(/^[\r\n]+/, ""))) return;
  throw new HttpError("head", "response is not HTTP");
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t \x21-\x7e\x80-\xff]*$/;

/**
 * Parses the name and the value of a line of a header or a trailer (RFC 9110, section 5); `null`: invalid. No expression may
 * have two parts that accept blanks, since it would take quadratic time.
 */
function parseField(line: string): Field | null {
  const colon = line.indexOf(":");
  const name = line.slice(0, Math.max(0, colon));
  const value = line.slice(colon + 1);
  return NAME.test(name) && VALUE.test(value) ? [name.toLowerCase(), withoutBlanks(value)] : null;
}

/** Without those around it. `trim()` would also take bytes that are part of a character of UTF-8. */
function withoutBlanks(value: string): string {
  const isBlank = (index: number): boolean => value[index] === " " || value[index] === "\t";
  let start = 0;
  let end = value.length;
  while (isBlank(start)) start++;
  while (end > start && isBlank(end - 1)) end--;
  return value.slice(start, end);
}

/** The value of a header, those of a repeated one joined; `null`: it is not there. */
export function headerOf({ fields }: Pick<ResponseHead, "fields">, name: string): string | null {
  let joined: string | null = null;
  for (const field of fields) {
    if (field[0] === name) joined = joined === null ? field[1] : `${joined}, ${field[1]}`;
  }
  return joined;
}

export interface RequestHead extends Pick<ResponseHead, "fields" | "minorVersion"> {
  readonly method: string;
  /** Path and query; begins with a slash. */
  readonly target: string;
}

/** Thrown when a request is malformed or too large; the server responds with its status. */
export class RequestError extends Error {
  override readonly name = "RequestError";

  /** The message is for people; no final period. */
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

const HEAD_BYTES_MAX = 16_384;

const REQUEST_LINE = /^([A-Z]{1,20}) (\/[\x21-\x7e]*) HTTP\/1\.([01])$/;

/** Reads the head of a request (RFC 9112); `null`: the client left. Throws a {@linkcode RequestError} if it is malformed. */
export async function readRequestHead(bytes: ByteReader): Promise<RequestHead | null> {
  const takeLine = lineReader(
    bytes,
    HEAD_BYTES_MAX,
    () => new RequestError(431, `the request head has more than ${HEAD_BYTES_MAX} bytes`),
  );
  const nextLine = async (): Promise<string | null> => {
    for (;;) {
      const line = takeLine();
      if (line !== null || !await bytes.fill()) return line;
    }
  };
  const first = await nextLine();
  if (first === null) return null;
  const [, method, target, minorVersion] = REQUEST_LINE.exec(first) ?? [];
  if (method === undefined || target === undefined) {
    throw new RequestError(400, "this is not a request of HTTP/1.1");
  }
  const fields: Field[] = [];
  for (let line = await nextLine(); line !== ""; line = await nextLine()) {
    if (line === null) return null;
    const field = parseField(line);
    if (field === null) throw new RequestError(400, "a header is malformed");
    fields.push(field);
  }
  return { method, target, fields, minorVersion: minorVersion === "0" ? "0" : "1" };
}

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

/** Reads bytes of a connection, line by line or as they come. */
export class ByteReader {
  readonly #read: (buffer: Uint8Array) => Promise<number | null>;
  #buffer = new Uint8Array(takeBuffer());
  #start = 0;
  #end = 0;
  /** There is no line feed before this position. */
  #searched = 0;
  #status: "idle" | "reading" | "closed" = "idle";

  /** `read` fills a buffer with the next bytes and returns their number; `null`: the other side has closed. */
  constructor(read: (buffer: Uint8Array) => Promise<number | null>) {
    this.#read = read;
  }

  get size(): number {
    return this.#end - this.#start;
  }

  /** Waits for more bytes; `false`: there are no more. Consumed bytes are overwritten. */
  async fill(): Promise<boolean> {
    if (this.#status !== "idle") throw new TypeError("The bytes are closed, or being read already");
    this.#makeRoom();
    this.#status = "reading";
    const count = await this.#read(this.#buffer.subarray(this.#end));
    if (this.#status === "reading") this.#status = "idle";
    if (count === null) return false;
    this.#end += count;
    return true;
  }

  /** Consumes the next line without its line feed, each byte as one character; `null`: its end has not arrived. */
  line(): string | null {
    let end = this.#searched;
    while (end < this.#end && this.#buffer[end] !== LINE_FEED) end++;
    this.#searched = Math.min(this.#end, end + 1);
    if (end === this.#end) return null;
    const line = textOf(this.#buffer, this.#start, end);
    this.#start = end + 1;
    return line;
  }

  /** The next bytes, at most so many, without taking them. */
  peek(countMax: number): string {
    return textOf(this.#buffer, this.#start, Math.min(this.#end, this.#start + countMax));
  }

  /** Consumes received bytes, at most so many. They are valid until the next `fill`, or `close`. */
  take(countMax: number): Uint8Array<ArrayBuffer> {
    const end = Math.min(this.#end, this.#start + countMax);
    const bytes = this.#buffer.subarray(this.#start, end);
    this.#start = end;
    this.#searched = Math.max(this.#searched, end);
    return bytes;
  }

  close(): void {
    // A read that has not ended, or has failed, may still write.
    if (this.#status === "idle") giveBuffer(this.#buffer.buffer);
    this.#status = "closed";
  }

  #makeRoom(): void {
    this.#buffer.copyWithin(0, this.#start, this.#end);
    this.#end -= this.#start;
    this.#searched -= this.#start;
    this.#start = 0;
    if (this.#end < this.#buffer.length) return;
    const larger = new Uint8Array(2 * this.#buffer.length);
    larger.set(this.#buffer);
    this.#buffer = larger;
  }
}

const LINE_FEED = 0x0a;
/** A call accepts only so many arguments. */
const PIECE_BYTES = 8_192;

function textOf(bytes: Uint8Array, fromByte: number, toByte: number): string {
  let text = "";
  for (let start = fromByte; start < toByte; start += PIECE_BYTES) {
    const piece = bytes.subarray(start, Math.min(toByte, start + PIECE_BYTES));
    // Spreading would go through an iterator, at twenty times the memory.
    text += Reflect.apply(String.fromCharCode, null, piece);
  }
  return text;
}

/** Buffers to read into, used again and again: to make one costs more than to read a small response. */

const BUFFER_BYTES = 16_384;
const KEPT_MAX = 64;

const kept: ArrayBuffer[] = [];

export function takeBuffer(): ArrayBuffer {
  return kept.pop() ?? new ArrayBuffer(BUFFER_BYTES);
}

/** Releases a buffer. It must not be read or written any more, by the runtime either. */
export function giveBuffer(buffer: ArrayBuffer): void {
  if (buffer.byteLength === BUFFER_BYTES && kept.length < KEPT_MAX) kept.push(buffer);
}
