/** The messages of PostgreSQL's protocol 3.0 that a client needs (postgresql.org/docs/current/protocol-message-formats.html). */

const ENCODER = new TextEncoder();
// A byte-order mark at the beginning is part of the text.
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });

/** The encoding of a parameter as text; `null` is NULL, bytes are sent as they are. */
export type Parameter = string | number | null | Uint8Array;

/** A message of the server: its type, and its body. */
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
  const bytes = new Uint8Array(type.length + bodyBytes);
  bytes.set(ENCODER.encode(type));
  new DataView(bytes.buffer).setInt32(type.length, bodyBytes);
  let offset = type.length + 4;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

/** A 16-bit number. */
export function int16(value: number): Uint8Array {
  return Uint8Array.of(value >> 8 & 0xff, value & 0xff);
}

/** A 32-bit number. */
export function int32(value: number): Uint8Array {
  return Uint8Array.of(value >> 24 & 0xff, value >> 16 & 0xff, value >> 8 & 0xff, value & 0xff);
}

/** Several messages as one. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
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
  return joined([
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

/** The longest message that is read; a column with many megabytes is none of ours. */
const MESSAGE_BYTES_MAX = 2 ** 28;

/** Extracts messages from data that arrives in pieces. */
export class MessageReader {
  #chunks: Uint8Array[] = [];
  #length = 0;

  /** Adds a piece and returns the messages that are whole. */
  *read(piece: Uint8Array): Generator<ServerMessage> {
    this.#chunks.push(piece);
    this.#length += piece.length;
    if (this.#length < this.#needed()) return;
    const bytes = joined(this.#chunks);
    const view = new DataView(bytes.buffer);
    let offset = 0;
    while (bytes.length - offset >= 5) {
      const length = view.getInt32(offset + 1);
      const end = offset + 1 + length;
      if (end > bytes.length) break;
      yield { type: String.fromCharCode(bytes[offset] ?? 0), body: bytes.subarray(offset + 5, end) };
      offset = end;
    }
    this.#chunks = [bytes.subarray(offset)];
    this.#length = bytes.length - offset;
  }

  /** Returns how many bytes the next message has. */
  #needed(): number {
    if (this.#length < 5) return 5;
    const start = this.#chunks[0]?.length ?? 0;
    if (start < 5) this.#chunks = [joined(this.#chunks)];
    const [first = new Uint8Array(5)] = this.#chunks;
    const view = new DataView(first.buffer, first.byteOffset);
    const length = view.getInt32(1);
    if (
      length < 4 || length > MESSAGE_BYTES_MAX || !/[A-Za-z0-9]/.test(String.fromCharCode(view.getUint8(0)))
    ) {
      throw new ProtocolError("is not PostgreSQL");
    }
    return length + 1;
  }
}

/** Reads the values of a message's body, one after the other. */
export class BodyReader {
  readonly #body: Uint8Array;
  readonly #view: DataView;
  #offset = 0;

  constructor(body: Uint8Array) {
    this.#body = body;
    this.#view = new DataView(body.buffer, body.byteOffset, body.length);
  }

  int16(): number {
    this.#offset += 2;
    return this.#view.getInt16(this.#offset - 2);
  }

  int32(): number {
    this.#offset += 4;
    return this.#view.getInt32(this.#offset - 4);
  }

  /** Text up to a zero byte. */
  text(): string {
    const end = this.#body.indexOf(0, this.#offset);
    const text = DECODER.decode(this.#body.subarray(this.#offset, end));
    this.#offset = end + 1;
    return text;
  }

  bytes(length: number): Uint8Array {
    this.#offset += length;
    return this.#body.subarray(this.#offset - length, this.#offset);
  }

  /** Everything that is left, as text. */
  rest(): string {
    return DECODER.decode(this.#body.subarray(this.#offset));
  }

  skip(bytes: number): void {
    this.#offset += bytes;
  }
}

/** A column of a result. */
export interface ResponseColumn {
  readonly name: string;
  /** The type's number in `pg_type`. */
  readonly typeId: number;
}

/** Reads a RowDescription. */
export function readColumns(body: Uint8Array): readonly ResponseColumn[] {
  const reader = new BodyReader(body);
  return Array.from({ length: reader.int16() }, () => {
    const name = reader.text();
    reader.skip(6);
    const typeId = reader.int32();
    reader.skip(8);
    return { name, typeId };
  });
}

/** Reads a DataRow of these columns. */
export function readRow(
  body: Uint8Array,
  columns: readonly ResponseColumn[],
): Record<string, string | number | null | Uint8Array<ArrayBuffer>> {
  const reader = new BodyReader(body);
  reader.skip(2);
  const row: Record<string, string | number | null | Uint8Array<ArrayBuffer>> = {};
  for (const { name, typeId } of columns) {
    const length = reader.int32();
    row[name] = length < 0 ? null : decode(DECODER.decode(reader.bytes(length)), typeId);
  }
  return row;
}

const BYTEA = 17;
/** `int8`, `int2`, `int4`, `float4`, `float8`. */
const NUMBERS: ReadonlySet<number> = new Set([20, 21, 23, 700, 701]);

function decode(text: string, typeId: number): string | number | Uint8Array<ArrayBuffer> {
  if (NUMBERS.has(typeId)) return Number(text);
  return typeId === BYTEA ? Uint8Array.fromHex(text.slice(2)) : text;
}

/** An array in PostgreSQL's text form. */
export function arrayText(values: readonly Parameter[]): string {
  return `{${values.map(itemText).join(",")}}`;
}

/** Characters that JSON escapes and PostgreSQL does not. */
const ESCAPED_BY_JSON = /[\p{Cc}\p{Cs}]/u;

/** A value within an array. */
export function itemText(value: Parameter): string {
  if (value === null) return "NULL";
  if (typeof value === "number") return String(value);
  if (typeof value !== "string") return `"\\\\x${value.toHex()}"`;
  // It quotes in the same way, and faster: most of the time of a save is spent here.
  if (!ESCAPED_BY_JSON.test(value)) return JSON.stringify(value);
  return `"${value.replaceAll(/["\\]/g, "\\$&")}"`;
}
