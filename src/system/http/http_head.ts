import type { RequestFailure } from "../../domain/requests.ts";
import type { ByteReader } from "./http_bytes.ts";

/** Why no whole response came; the message is one line for people. */
export class HttpError extends Error {
  /** The name of the class. */
  override readonly name = "HttpError";
  /** Where it failed. */
  readonly phase: RequestFailure["phase"];

  /** The reason begins with a small letter. */
  constructor(phase: RequestFailure["phase"], reason: string) {
    super(reason);
    this.phase = phase;
  }
}

/** The head of a response. */
export interface ResponseHead {
  /** 100 to 999. */
  readonly status: number;
  /** In the order in which they came, with names in small letters; each byte of a value is a character. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** The digit behind `HTTP/1.`. */
  readonly minorVersion: "0" | "1";
}

/** All heads before the body together, informational responses included. */
const HEADS_BYTES_MAX = 384 * 1024;
/**
 * Each is read in one turn of the event loop with those that came with it, so a server that sends them without end would
 * keep everything else waiting.
 */
const INFORMATIONAL_MAX = 100;

/**
 * Reads the head of the final response (RFC 9112, sections 2 to 5); informational responses (1xx) are skipped.
 *
 * @throws {HttpError} If it is malformed, too large, or does not come.
 */
export async function readHead(bytes: ByteReader): Promise<ResponseHead> {
  const lines = new HeadLines(bytes);
  for (let count = 0; count <= INFORMATIONAL_MAX; count++) {
    const head = await readOneHead(lines);
    // After 101 the connection speaks another protocol, so no other head follows.
    if (head.status >= 200 || head.status === 101) return head;
  }
  throw new HttpError("head", `more than ${INFORMATIONAL_MAX} informational responses (1xx)`);
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d{2})(?: [\t \x21-\x7e\x80-\xff]*)?$/;
/** A field (RFC 9110, section 5): its name, and its value without the white space around it. */
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*([\t \x21-\x7e\x80-\xff]*)$/;

async function readOneHead(lines: HeadLines): Promise<ResponseHead> {
  const first = await lines.first();
  const [, minorVersion, digits] = STATUS_LINE.exec(first) ?? [];
  if (digits === undefined) {
    const isHttp = /^HTTP\/1\.[01] /.test(first);
    throw new HttpError("head", isHttp ? "answer has no valid status" : "answer is not HTTP");
  }
  const fields: (readonly [name: string, value: string])[] = [];
  for (let line = await lines.next(); line !== ""; line = await lines.next()) {
    const [, name, value] = FIELD.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw new HttpError("head", "answer has a malformed header");
    }
    fields.push([name.toLowerCase(), value]);
  }
  return { status: Number(digits), fields, minorVersion: minorVersion === "0" ? "0" : "1" };
}

/** The value of a header, those of a repeated one joined; `null`: it is not there. */
export function headerOf({ fields }: ResponseHead, name: string): string | null {
  const values = fields.flatMap(([other, value]) => other === name ? [value.trim()] : []);
  return values.length === 0 ? null : values.join(", ");
}

/** Whether a line is a field of a header or a trailer. */
export function isField(line: string): boolean {
  return FIELD.test(line);
}

const BEGINNING = "HTTP/1.";

/** The lines of heads, without their ends. */
class HeadLines {
  readonly #bytes: ByteReader;
  #leftBytes = HEADS_BYTES_MAX;

  constructor(bytes: ByteReader) {
    this.#bytes = bytes;
  }

  /** The first line of a head; empty ones before it are skipped. */
  async first(): Promise<string> {
    for (;;) {
      const beginning = this.#bytes.peek(BEGINNING.length).replace(/^[\r\n]+/, "");
      // What is not HTTP may have no lines at all.
      if (!BEGINNING.startsWith(beginning.slice(0, BEGINNING.length))) {
        throw new HttpError("head", "answer is not HTTP");
      }
      const line = this.#take();
      if (line !== null && line !== "") return line;
      if (line === null) await this.#fill();
    }
  }

  async next(): Promise<string> {
    for (;;) {
      const line = this.#take();
      if (line !== null) return line;
      await this.#fill();
    }
  }

  #take(): string | null {
    const line = this.#bytes.line();
    if (line === null) return null;
    this.#leftBytes -= line.length + 1;
    this.#refuseTooLarge(0);
    return line.endsWith("\r") ? line.slice(0, -1) : line;
  }

  async #fill(): Promise<void> {
    this.#refuseTooLarge(this.#bytes.size);
    if (await this.#bytes.fill()) return;
    throw new HttpError("head", "connection closed before a response head");
  }

  #refuseTooLarge(openBytes: number): void {
    if (openBytes > this.#leftBytes) throw new HttpError("head", "head is too large");
  }
}
