/** The response to one statement: the order of its messages, and their content. */
import {
  BodyReader,
  ProtocolError,
  readColumns,
  readRow,
  type ResponseColumn,
  type ServerMessage,
} from "./protocol.ts";

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

  /** The error of the statement, until the end of the response. */
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
const DECODER = new TextDecoder();

export function errorOf(body: Uint8Array): PostgresError {
  const fields = new Map(
    DECODER.decode(body).split("\0").map((field) => [field.slice(0, 1), field.slice(1)]),
  );
  return new PostgresError(fields.get("M") ?? "unknown error", fields.get("C") ?? "");
}
