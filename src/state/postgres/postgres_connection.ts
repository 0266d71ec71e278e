/**
 * One connection to a PostgreSQL server. Exchanges come one after the other, each with a deadline: when that passes, the
 * connection is closed, and whether the server has carried out the statement is unknown.
 */
import type { Clock } from "../../domain/clock.ts";
import type { Connection } from "../../domain/connections.ts";
import type { Row } from "../sqlite/sqlite_connection.ts";
import {
  bindAndExecute,
  BodyReader,
  int16,
  int32,
  joined,
  message,
  MessageReader,
  type Parameter,
  ProtocolError,
  readColumns,
  readRow,
  type ResponseColumn,
  type ServerMessage,
  terminated,
} from "./protocol.ts";
import { createScram, type Scram } from "./scram.ts";

/** An error that the server returned. */
export class PostgresError extends Error {
  override readonly name = "PostgresError";
  /** SQLSTATE, such as `42P01` (postgresql.org/docs/current/errcodes-appendix.html). */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** A connection that broke, or was closed because its deadline passed: sent statements may have been executed. */
export class ConnectionLostError extends Error {
  override readonly name = "ConnectionLostError";
}

interface StartupOptions {
  readonly user: string;
  readonly database: string;
  /** `null`: no password. */
  readonly password: string | null;
  /** Whether other users can't read the traffic; else no password is sent in plain text. */
  readonly isPrivate: boolean;
  /** Settings of the session, by name. */
  readonly settings: Readonly<Record<string, string>>;
  /** Whether statements are prepared once and used again; a pooler may give each one to another server process. */
  readonly prepare: boolean;
  readonly clock: Clock;
  /** For the whole startup, and for each exchange after it. */
  readonly timeoutMs: number;
  /** Fresh random text, for authentication. */
  readonly nonce: string;
}

/** The result of a statement. */
export interface StatementResult {
  readonly rows: readonly Row[];
  /** How many rows it returned or changed. */
  readonly count: number;
}

const PROTOCOL_VERSION = 3 << 16;
const SYNC = message("S");
const TERMINATE = message("X");

export class PostgresConnection {
  readonly #connection: Connection;
  readonly #options: StartupOptions;
  readonly #reader = new MessageReader();
  readonly #messages: ServerMessage[] = [];
  readonly #prepared = new Map<string, string>();
  readonly #failed = Promise.withResolvers<never>();
  #isOpen = true;

  private constructor(connection: Connection, options: StartupOptions) {
    this.#connection = connection;
    this.#options = options;
    // It may fail while nothing waits for it.
    this.#failed.promise.catch(() => {});
  }

  /**
   * Starts a session on a connection, which is closed if that fails.
   *
   * @throws {PostgresError} If the server rejects it.
   * @throws {ProtocolError} If the server is another one, or requests missing credentials.
   * @throws {ConnectionLostError} If the server does not respond.
   */
  static async start(connection: Connection, options: StartupOptions): Promise<PostgresConnection> {
    const session = new PostgresConnection(connection, options);
    try {
      await session.#withinDeadline(() => session.#startUp());
      return session;
    } catch (error) {
      session.close();
      throw error;
    }
  }

  /** Whether it can still be used. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Runs a statement with its parameters `$1`, `$2` and so on. Without a transaction it is one by itself. */
  async run(sql: string, parameters: readonly Parameter[] = []): Promise<StatementResult> {
    return await this.#withinDeadline(async () => {
      const name = this.#options.prepare ? this.#prepared.get(sql) ?? `s${this.#prepared.size + 1}` : "";
      const isPrepared = name !== "" && this.#prepared.has(sql);
      this.#send(joined([
        ...isPrepared ? [] : [message("P", terminated(name), terminated(sql), int16(0))],
        bindAndExecute(name, parameters),
        SYNC,
      ]));
      return await this.#readResult(() => name !== "" && this.#prepared.set(sql, name));
    });
  }

  /** Ends it at once; fine when that was done before. */
  close(): void {
    if (this.#isOpen) this.#connection.write(TERMINATE).catch(() => {});
    this.#fail(new ConnectionLostError("connection was closed"));
  }

  async #startUp(): Promise<void> {
    const { user, database, settings } = this.#options;
    const parameters = { user, database, client_encoding: "UTF8", application_name: "monitor", ...settings };
    const pairs = Object.entries(parameters).flatMap((
      [name, value],
    ) => [terminated(name), terminated(value)]);
    this.#send(message("", int32(PROTOCOL_VERSION), ...pairs, terminated("")));
    let scram: Scram | null = null;
    for (;;) {
      const { type, body } = await this.#next();
      if (type === "Z") return;
      if (type === "E") throw errorOf(body);
      if (type === "R") scram = await this.#authenticate(new BodyReader(body), scram);
      else if (!IGNORED.has(type)) throw new ProtocolError("is not PostgreSQL");
    }
  }

  async #authenticate(body: BodyReader, scram: Scram | null): Promise<Scram | null> {
    const { password, isPrivate, nonce } = this.#options;
    const request = body.int32();
    if (request === AUTHENTICATION.ok) return scram;
    if (password === null) throw new ProtocolError('asks for a password; set "password" of "state"');
    if (request === AUTHENTICATION.clearText && isPrivate) {
      this.#send(message("p", terminated(password)));
      return null;
    }
    if (request === AUTHENTICATION.sasl && body.rest().split("\0").includes(MECHANISM)) {
      const begun = createScram(password, nonce);
      const first = new TextEncoder().encode(begun.first);
      this.#send(message("p", terminated(MECHANISM), int32(first.length), first));
      return begun;
    }
    if (request === AUTHENTICATION.saslContinue && scram !== null) {
      this.#send(message("p", new TextEncoder().encode(await scram.answer(body.rest()))));
      return scram;
    }
    if (request === AUTHENTICATION.saslFinal && scram !== null) {
      scram.verify(body.rest());
      return scram;
    }
    throw new ProtocolError(
      "does not offer SCRAM-SHA-256; set it in pg_hba.conf, and the password again",
    );
  }

  /** Reads up to the end of the exchange, also after an error: then the connection is ready for the next one. */
  async #readResult(onParsed: () => void): Promise<StatementResult> {
    const rows: Row[] = [];
    let columns: readonly ResponseColumn[] = [];
    let count = 0;
    let failure: PostgresError | null = null;
    for (;;) {
      let next: ServerMessage;
      try {
        next = await this.#next();
      } catch (error) {
        // The last message of a server that closes the connection has the reason.
        throw failure ?? error;
      }
      const { type, body } = next;
      if (type === "D") rows.push(readRow(body, columns));
      else if (type === "T") columns = readColumns(body);
      else if (type === "C") count = Number(/\d+(?=\0)/.exec(new BodyReader(body).rest())?.[0] ?? 0);
      else if (type === "1") onParsed();
      else if (type === "E") failure ??= errorOf(body);
      else if (type === "Z") {
        if (failure !== null) throw failure;
        return { rows, count };
      }
    }
  }

  async #next(): Promise<ServerMessage> {
    for (;;) {
      const next = this.#messages.shift();
      if (next !== undefined) return next;
      let piece: Uint8Array | null;
      try {
        piece = await Promise.race([this.#connection.read(), this.#failed.promise]);
      } catch (error) {
        throw this.#fail(error);
      }
      if (piece === null) throw this.#fail(new ConnectionLostError("connection closed by the server"));
      try {
        this.#messages.push(...this.#reader.read(piece));
      } catch (error) {
        throw this.#fail(error);
      }
    }
  }

  /** Reading shows whether it arrives: a server that ends the connection may have sent the reason. */
  #send(bytes: Uint8Array): void {
    this.#connection.write(bytes).catch(() => {});
  }

  async #withinDeadline<T>(work: () => Promise<T>): Promise<T> {
    const { clock, timeoutMs } = this.#options;
    if (!this.#isOpen) throw new ConnectionLostError("connection was closed");
    const cancel = clock.after(timeoutMs, () => {
      this.#fail(new ConnectionLostError(`no response within ${timeoutMs / 1000} s`));
    });
    try {
      return await work();
    } finally {
      cancel();
    }
  }

  /** Returns the reason for which everything rejects from now on. */
  #fail(reason: unknown): unknown {
    const error = reason instanceof ConnectionLostError || reason instanceof ProtocolError
      ? reason
      : new ConnectionLostError(reason instanceof Error ? reason.message : String(reason), { cause: reason });
    if (!this.#isOpen) return error;
    this.#isOpen = false;
    this.#failed.reject(error);
    this.#connection.close();
    return error;
  }
}

const MECHANISM = "SCRAM-SHA-256";

const AUTHENTICATION = { ok: 0, clearText: 3, sasl: 10, saslContinue: 11, saslFinal: 12 } as const;

/** During startup: settings, the key for cancelling, notices, and a newer protocol that was not asked for. */
const IGNORED: ReadonlySet<string> = new Set(["S", "K", "N", "v"]);

function errorOf(body: Uint8Array): PostgresError {
  const fields = new Map(
    new BodyReader(body).rest().split("\0").map((field) => [field.slice(0, 1), field.slice(1)]),
  );
  return new PostgresError(fields.get("M") ?? "unknown error", fields.get("C") ?? "");
}
