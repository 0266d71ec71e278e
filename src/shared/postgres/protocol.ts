/** The messages of PostgreSQL's protocol 3.0 that a client needs (postgresql.org/docs/current/protocol-message-formats.html). */
import { joinBytes } from "../text.ts";

const ENCODER = new TextEncoder();
// A byte-order mark at the beginning is part of the text.
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

/** The encoding of a parameter as text; `null` is NULL, bytes are sent as they are. */
export type Parameter = string | number | null | Uint8Array;

export interface ServerMessage {
  readonly type: string;
  readonly body: Uint8Array;
}

/** A server that violates the protocol; the message completes "server …". */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

/** Text as the protocol has it: ended by a zero byte. */
export function terminated(text: string): Uint8Array {
  return ENCODER.encode(`${text.replaceAll("\0", "")}\0`);
}

/** A message of the client; without a type, the first one of a connection. */
export function message(type: string, ...parts: readonly Uint8Array[]): Uint8Array {
  const bodyBytes = parts.reduce((sum, part) => sum + part.length, 4);
  return joinBytes([ENCODER.encode(type), int32(bodyBytes), ...parts]);
}

export function int16(value: number): Uint8Array {
  return Uint8Array.of(value >> 8 & 0xff, value & 0xff);
}

export function int32(value: number): Uint8Array {
  return Uint8Array.of(value >> 24 & 0xff, value >> 16 & 0xff, value >> 8 & 0xff, value & 0xff);
}

const TEXT = 0;
const BINARY = 1;

/** Binds parameters to a statement and executes it; all columns come back as text. */
export function bindAndExecute(statement: string, parameters: readonly Parameter[]): Uint8Array {
  const formats = parameters.map((value) => int16(value instanceof Uint8Array ? BINARY : TEXT));
  const values = parameters.flatMap((value) => {
    if (value === null) return [int32(-1)];
    const bytes = value instanceof Uint8Array ? value : ENCODER.encode(String(value));
    return [int32(bytes.length), bytes];
  });
  return joinBytes([
    message(
      "B",
      terminated(""),
      terminated(statement),
      int16(formats.length),
      ...formats,
      int16(parameters.length),
      ...values,
      int16(0),
    ),
    message("D", ENCODER.encode("P"), terminated("")),
    message("E", terminated(""), int32(0)),
  ]);
}

/** Extracts messages from data that arrives in pieces. */
export class MessageReader {
  #bytes: Uint8Array = NOTHING;
  /** What is unread of these bytes. */
  #start = 0;
  #end = 0;
  #isFirst = true;

  /** Adds a piece, which the caller must not change. The bodies of earlier messages are no longer valid. */
  add(piece: Uint8Array): void {
    const unread = this.#bytes.subarray(this.#start, this.#end);
    if (unread.length === 0) {
      this.#bytes = piece;
    } else if (this.#end + piece.length > this.#bytes.length) {
      // Twice the size: a server may send one byte at a time.
      this.#bytes = new Uint8Array(2 * (unread.length + piece.length));
      this.#bytes.set(unread);
      this.#bytes.set(piece, unread.length);
    } else {
      this.#bytes.set(piece, this.#end);
      this.#end += piece.length;
      return;
    }
    this.#start = 0;
    this.#end = unread.length + piece.length;
  }

  /** Returns the next whole message; `null`: none. Throws a {@linkcode ProtocolError} if it is too long, or no message. */
  next(bytesMax: number): ServerMessage | null {
    const offset = this.#start;
    if (this.#end - offset < HEADER_BYTES) return null;
    const type = String.fromCharCode(this.#bytes[offset] ?? 0);
    const length = new DataView(this.#bytes.buffer, this.#bytes.byteOffset + offset + 1).getInt32(0);
    if (!/[A-Za-z0-9]/.test(type) || length < LENGTH_BYTES || length > bytesMax) {
      throw new ProtocolError(
        this.#isFirst
          ? "is not PostgreSQL"
          : `sends a message of ${length} bytes, expected ${LENGTH_BYTES} to ${bytesMax}`,
      );
    }
    this.#isFirst = false;
    const end = offset + 1 + length;
    if (end > this.#end) return null;
    const body = this.#bytes.subarray(offset + HEADER_BYTES, end);
    this.#start = end;
    if (end === this.#end) this.#bytes = NOTHING.subarray(this.#start = this.#end = 0);
    return { type, body };
  }
}

const NOTHING = new Uint8Array(0);
const LENGTH_BYTES = 4;
const HEADER_BYTES = 1 + LENGTH_BYTES;

/** Reads the values of a message's body, one after the other. Throws a {@linkcode ProtocolError} beyond its end. */
export class BodyReader {
  readonly #body: Uint8Array;
  readonly #view: DataView;
  #offset = 0;

  constructor(body: Uint8Array) {
    this.#body = body;
    this.#view = new DataView(body.buffer, body.byteOffset, body.length);
  }

  int16(): number {
    return this.#view.getInt16(this.#advance(2));
  }

  int32(): number {
    return this.#view.getInt32(this.#advance(4));
  }

  /** Text up to a zero byte. */
  text(): string {
    const end = this.#body.indexOf(0, this.#offset);
    if (end < 0) throw new ProtocolError(SHORT);
    const text = decodeText(this.#body.subarray(this.#offset, end));
    this.#offset = end + 1;
    return text;
  }

  bytes(length: number): Uint8Array {
    const offset = this.#advance(length);
    return this.#body.subarray(offset, offset + length);
  }

  rest(): string {
    return decodeText(this.bytes(this.#body.length - this.#offset));
  }

  skip(bytes: number): void {
    this.#advance(bytes);
  }

  /** @throws {ProtocolError} If something is left. */
  end(): void {
    if (this.#offset < this.#body.length) throw new ProtocolError("sends a message that is too long");
  }

  #advance(bytes: number): number {
    const offset = this.#offset;
    if (bytes < 0 || offset + bytes > this.#body.length) throw new ProtocolError(SHORT);
    this.#offset += bytes;
    return offset;
  }
}

const SHORT = "sends a message that is too short";

function decodeText(bytes: Uint8Array): string {
  try {
    return DECODER.decode(bytes);
  } catch (error) {
    throw new ProtocolError("sends text that is not UTF-8", { cause: error });
  }
}

interface ResponseColumn {
  readonly name: string;
  /** The type's number in `pg_type`. */
  readonly typeId: number;
}

/** PostgreSQL has no results with more. */
const COLUMNS_MAX = 1_664;

function readColumns(body: Uint8Array): readonly ResponseColumn[] {
  const reader = new BodyReader(body);
  const count = reader.int16();
  if (count < 0 || count > COLUMNS_MAX) {
    throw new ProtocolError(`describes ${count} columns, expected 0 to ${COLUMNS_MAX}`);
  }
  const columns = Array.from({ length: count }, () => {
    const name = reader.text();
    reader.skip(6);
    const typeId = reader.int32();
    reader.skip(6);
    if (reader.int16() !== TEXT) throw new ProtocolError("sends values that are not text");
    return { name, typeId };
  });
  reader.end();
  return columns;
}

type Value = string | number | null | Uint8Array<ArrayBuffer>;

function readRow(body: Uint8Array, columns: readonly ResponseColumn[]): Record<string, Value> {
  const reader = new BodyReader(body);
  const count = reader.int16();
  if (count !== columns.length) {
    throw new ProtocolError(`sends a row of ${count} columns, expected ${columns.length}`);
  }
  const row: Record<string, Value> = {};
  for (const { name, typeId } of columns) {
    const length = reader.int32();
    row[name] = length === -1 ? null : decode(decodeText(reader.bytes(length)), typeId);
  }
  reader.end();
  return row;
}

const BYTEA = 17;
/** `int8`, `int2`, `int4`, `float4`, `float8`. */
const NUMBERS: ReadonlySet<number> = new Set([20, 21, 23, 700, 701]);
const NUMBER = /^(?:-?(?:\d|Infinity)|NaN$)/;

function decode(text: string, typeId: number): Value {
  if (NUMBERS.has(typeId)) {
    const number = Number(text);
    if (!NUMBER.test(text) || Number.isNaN(number) && text !== "NaN") {
      throw new ProtocolError("sends a number that is none");
    }
    return number;
  }
  if (typeId !== BYTEA) return text;
  try {
    if (text.startsWith("\\x")) return Uint8Array.fromHex(text.slice(2));
  } catch {
    // An odd length, or no hexadecimal digits.
  }
  throw new ProtocolError('sends bytes that are not hexadecimal; set bytea_output to "hex"');
}

/** An array in PostgreSQL's text form. */
export function arrayText(values: readonly Parameter[]): string {
  return `{${values.map(itemText).join(",")}}`;
}

/** Characters that JSON escapes and PostgreSQL does not. */
const ESCAPED_BY_JSON = /[\p{Cc}\p{Cs}]/u;

export function itemText(value: Parameter): string {
  if (value === null) return "NULL";
  if (typeof value === "number") return String(value);
  if (typeof value !== "string") return `"\\\\x${value.toHex()}"`;
  // It quotes in the same way, and faster: most of the time of a save is spent here.
  if (!ESCAPED_BY_JSON.test(value)) return JSON.stringify(value);
  return `"${value.replaceAll(/["\\]/g, "\\$&")}"`;
}

export class PostgresError extends Error {
  override readonly name = "PostgresError";
  /** `code`: SQLSTATE, such as `42P01` (postgresql.org/docs/current/errcodes-appendix.html). */
  constructor(message: string, readonly code: string) {
    super(message);
  }
}

type Row = ReturnType<typeof readRow>;

export interface StatementResult {
  /** Empty if the statement returns no rows. */
  readonly columns: readonly ResponseColumn[];
  readonly rows: readonly Row[];
  /** How many rows it returned or changed. */
  readonly count: number;
}

type Phase = "parsed" | "bound" | "described" | "executed" | "ready";

const PHASES: Readonly<Record<string, readonly [phase: Phase, next: Phase]>> = {
  "1": ["parsed", "bound"],
  "2": ["bound", "described"],
  T: ["described", "executed"],
  n: ["described", "executed"],
  D: ["executed", "executed"],
  C: ["executed", "ready"],
};

/** A server sends these at any time: notices, settings, notifications. */
export const UNASKED: ReadonlySet<string> = new Set(["N", "S", "A"]);

const RESPONSE_BYTES_MAX = 2 ** 27;
/** What a message and a value take in memory in addition, however short they are. */
const MESSAGE_BYTES = 64;
const VALUE_BYTES = 32;

/** The response to one statement: the order of its messages, and their content. */
export class StatementResponse {
  readonly #onParsed: () => void;
  #phase: Phase;
  #columns: readonly ResponseColumn[] | null = null;
  readonly #rows: Row[] = [];
  #count: number | null = null;
  #failure: PostgresError | null = null;
  readonly #bytesMax: number;
  #bytesLeft: number;

  /** `onParsed` is called when the server has parsed the statement; `null`: it did that before. */
  constructor(onParsed: (() => void) | null, bytesMax = RESPONSE_BYTES_MAX) {
    this.#bytesLeft = this.#bytesMax = bytesMax;
    this.#phase = onParsed === null ? "bound" : "parsed";
    this.#onParsed = onParsed ?? (() => {});
  }

  get failure(): PostgresError | null {
    return this.#failure;
  }

  /**
   * Adds a message. Returns the result once it is complete.
   *
   * @throws {PostgresError} If the statement has failed; the connection is ready for the next one.
   * @throws {ProtocolError} If the message is malformed, or another one was expected.
   */
  receive({ type, body }: ServerMessage): StatementResult | null {
    this.#bytesLeft -= MESSAGE_BYTES + body.length + VALUE_BYTES * (this.#columns?.length ?? 0);
    if (this.#bytesLeft < 0) {
      throw new ProtocolError(`sends a response of more than ${this.#bytesMax} bytes`);
    }
    if (UNASKED.has(type)) return null;
    if (type === "E") {
      this.#failure ??= errorOf(body);
      this.#phase = "ready";
      return null;
    }
    if (type === "Z" && this.#phase === "ready") return this.#end(body);
    const [phase, next] = PHASES[type] ?? [];
    const isStray = type === "D" && this.#columns === null;
    if (phase !== this.#phase || next === undefined || isStray) {
      throw new ProtocolError("sends messages in another order");
    }
    this.#phase = next;
    this.#read(type, body);
    return null;
  }

  #read(type: string, body: Uint8Array): void {
    if (type === "1") this.#onParsed();
    else if (type === "T") this.#columns = readColumns(body);
    else if (type === "D") this.#rows.push(readRow(body, this.#columns ?? []));
    else if (type === "C") this.#count = countIn(new BodyReader(body).text());
  }

  #end(status: Uint8Array): StatementResult {
    if (status.length !== 1) throw new ProtocolError("sends a message that is too long");
    if (this.#failure !== null) throw this.#failure;
    const [rows, count] = [this.#rows, this.#count];
    if (this.#columns !== null && count !== null && rows.length !== count) {
      throw new ProtocolError(`sends ${rows.length} rows, expected ${count}`);
    }
    return { columns: this.#columns ?? [], rows, count: count ?? 0 };
  }
}

/** The number at the end of a tag such as `INSERT 0 5`; `null` for `BEGIN`. */
function countIn(tag: string): number | null {
  const [digits] = /\d+$/.exec(tag) ?? [];
  return digits === undefined ? null : Number(digits);
}

/** The text is not of the client's encoding if the session has not begun. */
/** A malformed byte of a message for people is replaced. */
const LENIENT_DECODER = new TextDecoder();

export function errorOf(body: Uint8Array): PostgresError {
  const fields = new Map(
    LENIENT_DECODER.decode(body).split("\0").map((field) => [field.slice(0, 1), field.slice(1)]),
  );
  return new PostgresError(fields.get("M") ?? "unknown error", fields.get("C") ?? "");
}
