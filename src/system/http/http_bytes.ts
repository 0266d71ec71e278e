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
    const end = this.#buffer.subarray(0, this.#end).indexOf(LINE_FEED, this.#searched);
    this.#searched = end < 0 ? this.#end : end + 1;
    if (end < 0) return null;
    const line = textOf(this.#buffer.subarray(this.#start, end));
    this.#start = end + 1;
    return line;
  }

  /** The next bytes, at most so many, without taking them. */
  peek(countMax: number): string {
    return textOf(this.#buffer.subarray(this.#start, Math.min(this.#end, this.#start + countMax)));
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

function textOf(bytes: Uint8Array): string {
  let text = "";
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
    // Spreading would go through an iterator, at twenty times the memory.
    text += Reflect.apply(String.fromCharCode, null, bytes.subarray(start, start + PIECE_BYTES));
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
