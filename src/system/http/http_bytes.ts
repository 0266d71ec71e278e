/** Reads bytes of a connection, line by line or as they come. */
export class ByteReader {
  readonly #read: (buffer: Uint8Array) => Promise<number | null>;
  #buffer = new Uint8Array(READ_BYTES_MIN);
  #start = 0;
  #end = 0;
  /** There is no line feed before this position. */
  #searched = 0;
  /** Whether the last read filled the buffer. */
  #isFull = false;

  /** `read` fills a buffer with what comes next and returns how much that is; `null`: the other side has ended. */
  constructor(read: (buffer: Uint8Array) => Promise<number | null>) {
    this.#read = read;
  }

  /** How many bytes came and were not taken. */
  get size(): number {
    return this.#end - this.#start;
  }

  /** Waits for more bytes; `false`: there are none to come. */
  async fill(): Promise<boolean> {
    this.#makeRoom();
    const count = await this.#read(this.#buffer.subarray(this.#end));
    if (count === null) return false;
    this.#end += count;
    this.#isFull = this.#end === this.#buffer.length;
    return true;
  }

  /** Takes the next line without its line feed, each byte as one character; `null`: its end has not come. */
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

  /** Takes what came, at most so many bytes. */
  take(countMax: number): Uint8Array<ArrayBuffer> {
    const end = Math.min(this.#end, this.#start + countMax);
    const bytes = this.#buffer.slice(this.#start, end);
    this.#start = end;
    this.#searched = Math.max(this.#searched, end);
    return bytes;
  }

  #makeRoom(): void {
    if (this.#start > 0) {
      this.#buffer.copyWithin(0, this.#start, this.#end);
      this.#end -= this.#start;
      this.#searched -= this.#start;
      this.#start = 0;
    }
    const isSmall = this.#isFull && this.#buffer.length < READ_BYTES_MAX;
    if (!isSmall && this.#end < this.#buffer.length) return;
    const larger = new Uint8Array(2 * this.#buffer.length);
    larger.set(this.#buffer.subarray(0, this.#end));
    this.#buffer = larger;
  }
}

/** A read takes so much at first, and more where more comes. */
const READ_BYTES_MIN = 4_096;
const READ_BYTES_MAX = 65_536;
const LINE_FEED = 0x0a;
/** A call takes only so many arguments. */
const PIECE_BYTES = 8_192;

const decoder = new TextDecoder("latin1");

function textOf(bytes: Uint8Array): string {
  const decoded = decoder.decode(bytes);
  // What the Encoding Standard calls so is windows-1252, where some bytes are other characters.
  // deno-lint-ignore no-control-regex
  if (/^[\x00-\xff]*$/.test(decoded)) return decoded;
  let text = "";
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
    text += String.fromCharCode(...bytes.subarray(start, start + PIECE_BYTES));
  }
  return text;
}
