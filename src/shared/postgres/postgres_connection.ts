/**
 * One connection to a PostgreSQL server. Exchanges come one after the other, each with a deadline: when that passes, the
 * connection is closed, and whether the server has carried out the statement is unknown.
 */
import type { Clock } from "../../domain/clock.ts";
import type { Connection } from "../../domain/connections.ts";
import { onAbort } from "../deadline.ts";
import { joinBytes } from "../text.ts";
import {
  bindAndExecute,
  BodyReader,
  errorOf,
  int16,
  int32,
  message,
  MessageReader,
  type Parameter,
  PostgresError,
  ProtocolError,
  StatementResponse,
  type StatementResult,
  terminated,
  UNASKED,
} from "./protocol.ts";

/** A connection that broke, or was closed because its deadline passed: sent statements may have been executed. */
export class ConnectionLostError extends Error {
  override readonly name = "ConnectionLostError";
}

interface StartupOptions extends AuthenticationOptions {
  readonly user: string;
  readonly database: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Whether statements are prepared once and used again; a pooler may give each one to another server process. */
  readonly prepare: boolean;
  readonly clock: Clock;
  /** For the whole startup, and for each exchange after it. */
  readonly timeoutMs: number;
  /** The longest response to a statement that is read. @default 128 MiB */
  readonly responseBytesMax?: number;
  readonly signal: AbortSignal;
}

const PROTOCOL_VERSION = 3 << 16;
const SYNC = message("S");
const TERMINATE = message("X");

/** The longest message that is read: a column with more is none of ours. */
const MESSAGE_BYTES_MAX = 2 ** 26;
/** The same for a server that has not accepted the user, and for all its messages until it is ready. */
const STARTUP_MESSAGE_BYTES_MAX = 2 ** 16;
const STARTUP_BYTES_MAX = 2 ** 20;

export class PostgresConnection {
  readonly #connection: Connection;
  readonly #options: StartupOptions;
  readonly #reader = new MessageReader();
  readonly #prepared = new Map<string, string>();
  #isOpen = true;
  /** Rejects the exchange in progress. */
  #abandon: (reason: unknown) => void = () => {};

  private constructor(connection: Connection, options: StartupOptions) {
    this.#connection = connection;
    this.#options = options;
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
    const stopListening = onAbort(options.signal, () => session.close());
    try {
      options.signal.throwIfAborted();
      await session.#exchange(() => session.#startUp());
      return session;
    } catch (error) {
      session.close();
      throw error;
    } finally {
      stopListening();
    }
  }

  get #messageBytesMax(): number {
    return Math.min(MESSAGE_BYTES_MAX, this.#options.responseBytesMax ?? MESSAGE_BYTES_MAX);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Runs a statement with its parameters `$1`, `$2` and so on. Without a transaction it is one by itself. */
  async run(sql: string, parameters: readonly Parameter[] = []): Promise<StatementResult> {
    return await this.#exchange(async () => {
      this.#readUnasked();
      const name = this.#options.prepare ? this.#prepared.get(sql) ?? `s${this.#prepared.size + 1}` : "";
      const isPrepared = name !== "" && this.#prepared.has(sql);
      this.#send(joinBytes([
        ...isPrepared ? [] : [message("P", terminated(name), terminated(sql), int16(0))],
        bindAndExecute(name, parameters),
        SYNC,
      ]));
      const { responseBytesMax } = this.#options;
      const onParsed = (): void => void (name !== "" && this.#prepared.set(sql, name));
      return await this.#readResult(new StatementResponse(isPrepared ? null : onParsed, responseBytesMax));
    });
  }

  /** Closes it at once; no error if it was closed before. */
  close(): void {
    if (this.#isOpen) this.#send(TERMINATE);
    this.#fail(new ConnectionLostError(CLOSED));
  }

  async #startUp(): Promise<void> {
    const { user, database, settings } = this.#options;
    const parameters = { user, database, client_encoding: "UTF8", application_name: "monitor", ...settings };
    const pairs = Object.entries(parameters).flat().map(terminated);
    this.#send(message("", int32(PROTOCOL_VERSION), ...pairs, terminated("")));
    const authentication = new Authentication(this.#options);
    for (let bytesLeft = STARTUP_BYTES_MAX;;) {
      const next = this.#reader.next(STARTUP_MESSAGE_BYTES_MAX);
      if (next === null) {
        await this.#receive();
        continue;
      }
      const { type, body } = next;
      bytesLeft -= body.length + 1;
      if (bytesLeft < 0) throw new ProtocolError("sends too much before it is ready");
      if (type === "E") throw errorOf(body);
      if (type === "R" && !authentication.isAccepted) {
        const response = await authentication.respond(body);
        if (response !== null) this.#send(response);
      } else if (type === "Z" && authentication.isAccepted) return;
      else if (type === "R" || type === "Z") throw new ProtocolError("sends messages in another order");
      else if (!IGNORED.has(type)) throw new ProtocolError("is not PostgreSQL");
    }
  }

  /** Reads what has come since the last exchange: another response would be taken for that to the next statement. */
  #readUnasked(): void {
    for (;;) {
      const next = this.#reader.next(this.#messageBytesMax);
      if (next === null) return;
      if (next.type === "E") throw errorOf(next.body);
      if (!UNASKED.has(next.type)) throw new ProtocolError("sends messages in another order");
    }
  }

  /** Reads up to the end of the exchange, also after an error: then the connection is ready for the next one. */
  async #readResult(response: StatementResponse): Promise<StatementResult> {
    for (;;) {
      const next = this.#reader.next(this.#messageBytesMax);
      if (next !== null) {
        const result = response.receive(next);
        if (result !== null) return result;
        continue;
      }
      try {
        await this.#receive();
      } catch (error) {
        // The last message of a server that closes the connection has the reason.
        const reason = response.failure ?? error;
        this.#fail(reason);
        throw reason;
      }
    }
  }

  async #receive(): Promise<void> {
    let piece: Uint8Array | null;
    try {
      piece = await this.#connection.read();
    } catch (error) {
      throw new ConnectionLostError(error instanceof Error ? error.message : String(error), { cause: error });
    }
    if (piece === null) throw new ConnectionLostError("connection closed by the server");
    if (!this.#isOpen) throw new ConnectionLostError(CLOSED);
    this.#reader.add(piece);
  }

  /** Reading shows whether it arrives: a server that ends the connection may have sent the reason. */
  #send(bytes: Uint8Array): void {
    this.#connection.write(bytes).catch(() => {});
  }

  /**
   * Does some work, and rejects as soon as the connection has failed, whatever the work waits for. Each exchange has a
   * promise of its own: one that stayed pending would keep a reaction, with the data that it got, for each of them.
   */
  #exchange<T>(work: () => Promise<T>): Promise<T> {
    const { clock, timeoutMs } = this.#options;
    if (!this.#isOpen) throw new ConnectionLostError(CLOSED);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const cancel = clock.after(timeoutMs, () => {
      this.#fail(new ConnectionLostError(`no response within ${timeoutMs / 1000} s`));
    });
    this.#abandon = reject;
    work().then(resolve, (error) => {
      // After any other error, the rest of the response would be read as that to the next statement.
      if (!(error instanceof PostgresError)) this.#fail(error);
      reject(error);
    });
    return promise.finally(() => {
      cancel();
      this.#abandon = () => {};
    });
  }

  /** Closes the connection, and rejects the exchange in progress. */
  #fail(reason: unknown): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#connection.close();
    this.#abandon(reason);
  }
}

const CLOSED = "connection was closed";

/** During startup: settings, the key for cancelling, notices, and a newer protocol that was not asked for. */
const IGNORED: ReadonlySet<string> = new Set(["S", "K", "N", "v"]);

interface AuthenticationOptions {
  /** `null`: no password. */
  readonly password: string | null;
  /**
   * Whether other users can neither read the traffic nor be the server. Otherwise the password is not sent in plain
   * text, and the server must prove that it has it.
   */
  readonly isPrivate: boolean;
  /** Fresh random text. */
  readonly nonce: string;
}

type State =
  | { readonly status: "begun" }
  /** The password is sent in plain text. */
  | { readonly status: "sent" }
  | { readonly status: "challenging" | "proving"; readonly scram: Scram }
  /** The server has proved that it has the password. */
  | { readonly status: "proved" }
  | { readonly status: "accepted" };

const MECHANISM = "SCRAM-SHA-256";

/** The requests of a server (postgresql.org/docs/current/protocol-message-formats.html). */
const REQUEST = { ok: 0, clearText: 3, sasl: 10, saslContinue: 11, saslFinal: 12 } as const;

/**
 * How a session proves its user to the server, and the server that it knows the password.
 *
 * One authentication: the requests of a server, in the only order that proves anything.
 */
class Authentication {
  readonly #options: AuthenticationOptions;
  #state: State = { status: "begun" };

  constructor(options: AuthenticationOptions) {
    this.#options = options;
  }

  get isAccepted(): boolean {
    return this.#state.status === "accepted";
  }

  /**
   * Returns the response to a request; `null`: none.
   *
   * @throws {ProtocolError} If it can't or must not be met.
   */
  async respond(request: Uint8Array): Promise<Uint8Array | null> {
    const body = new BodyReader(request);
    const kind = body.int32();
    const state = this.#state;
    if (kind === REQUEST.ok) return this.#accept();
    const { password, isPrivate, nonce } = this.#options;
    if (password === null) throw new ProtocolError('asks for a password; set "password"');
    if (kind === REQUEST.clearText && isPrivate && state.status === "begun") {
      this.#state = { status: "sent" };
      return message("p", terminated(password));
    }
    if (kind === REQUEST.sasl && state.status === "begun" && body.rest().split("\0").includes(MECHANISM)) {
      const scram = new Scram(password, nonce);
      this.#state = { status: "challenging", scram };
      const first = new TextEncoder().encode(scram.first);
      return message("p", terminated(MECHANISM), int32(first.length), first);
    }
    if (kind === REQUEST.saslContinue && state.status === "challenging") {
      this.#state = { status: "proving", scram: state.scram };
      return message("p", new TextEncoder().encode(await state.scram.answer(body.rest())));
    }
    if (kind === REQUEST.saslFinal && state.status === "proving") {
      state.scram.verify(body.rest());
      this.#state = { status: "proved" };
      return null;
    }
    throw new ProtocolError(
      state.status === "begun"
        ? "does not offer SCRAM-SHA-256; set it in pg_hba.conf, and the password again"
        : "asks for the password in another way",
    );
  }

  #accept(): null {
    const { password, isPrivate } = this.#options;
    const { status } = this.#state;
    if (status === "begun" && password !== null && !isPrivate) {
      throw new ProtocolError(
        'does not ask for the password; remove "password", or set scram-sha-256 in pg_hba.conf',
      );
    }
    if (status === "challenging" || status === "proving") {
      throw new ProtocolError("does not prove that it knows the password");
    }
    this.#state = { status: "accepted" };
    return null;
  }
}

// SCRAM-SHA-256 (RFC 5802, RFC 7677): the password never leaves this process, and the server proves that it has it.

const ENCODER = new TextEncoder();

/** With fewer iterations, another server could guess the password from the response (RFC 7677, section 4). */
const ITERATIONS_MIN = 4_096;
/** More would only take processor time. */
const ITERATIONS_MAX = 1_000_000;

/** The server's first message; what may follow is an extension that changes nothing. */
const SERVER_FIRST = /^r=([!-+\--~]+),s=([A-Za-z0-9+/]+={0,2}),i=([1-9]\d{0,15})(?:,|$)/;

class Scram {
  readonly #password: string;
  readonly #nonce: string;
  #signature: string | null = null;

  /** Begins one; the nonce is fresh and printable. */
  constructor(password: string, nonce: string) {
    this.#password = password;
    this.#nonce = nonce;
  }

  get first(): string {
    return `n,,${this.#bare}`;
  }

  async answer(serverFirst: string): Promise<string> {
    const [, both = "", salt = "", iterations = ""] = SERVER_FIRST.exec(serverFirst) ?? [];
    const count = Number(iterations);
    if (!both.startsWith(this.#nonce) || both === this.#nonce) throw unusable();
    if (count < ITERATIONS_MIN || count > ITERATIONS_MAX) {
      throw new ProtocolError(
        `asks for ${count} SCRAM iterations, expected ${ITERATIONS_MIN} to ${ITERATIONS_MAX}`,
      );
    }
    const withoutProof = `c=biws,r=${both}`;
    const text = `${this.#bare},${serverFirst},${withoutProof}`;
    const salted = await saltedPassword(this.#password, bytesOf(salt), count);
    const clientKey = await sign(salted, "Client Key");
    const storedKey = new Uint8Array(await crypto.subtle.digest("SHA-256", clientKey));
    const signature = await sign(storedKey, text);
    this.#signature = (await sign(await sign(salted, "Server Key"), text)).toBase64();
    return `${withoutProof},p=${clientKey.map((byte, index) => byte ^ (signature[index] ?? 0)).toBase64()}`;
  }

  /** @throws {ProtocolError} If the server's last message does not prove that it has the password. */
  verify(serverLast: string): void {
    if (this.#signature === null || serverLast.split(",")[0] !== `v=${this.#signature}`) throw unusable();
  }

  /** The name is that of the startup message; the server ignores this one. */
  get #bare(): string {
    return `n=,r=${this.#nonce}`;
  }
}

function unusable(): ProtocolError {
  return new ProtocolError("does not prove that it knows the password");
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.fromBase64(base64);
  } catch {
    throw unusable();
  }
}

async function saltedPassword(password: string, salt: Uint8Array<ArrayBuffer>, iterations: number) {
  const secret = ENCODER.encode(await prepare(password));
  const key = await crypto.subtle.importKey("raw", secret, "PBKDF2", false, ["deriveBits"]);
  return new Uint8Array(
    await crypto.subtle.deriveBits({ name: "PBKDF2", hash: "SHA-256", salt, iterations }, key, 256),
  );
}

/** Returns a password as the server has it: prepared (RFC 4013), or as it is if that rejects it. */
async function prepare(password: string): Promise<string> {
  if (/^[\0-\x7f]*$/.test(password)) return password;
  const { saslprep } = await import("@mongodb-js/saslprep");
  try {
    return saslprep(password) || password;
  } catch {
    return password;
  }
}

async function sign(secret: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array<ArrayBuffer>> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", secret, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, ENCODER.encode(text)));
}
