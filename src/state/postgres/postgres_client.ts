/** A connection to the writable one of several servers. It is made again if it breaks. */
import type { Clock } from "../../domain/clock.ts";
import type { ConnectionPhase, Connections, DatabaseTarget } from "../../domain/connections.ts";
import type { PostgresPlace } from "../../domain/stores.ts";
import { createAbort, pause, startDeadline } from "../../shared/deadline.ts";
import type { Dialect } from "../sql/rows.ts";
import {
  type Parameter,
  PostgresError,
  ProtocolError,
  type StatementResult,
} from "../../shared/postgres/protocol.ts";
import { ConnectionLostError, PostgresConnection } from "../../shared/postgres/postgres_connection.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import { StoreError, type StoreFailure } from "../../domain/store.ts";
import { messageOf, systemCodeOf } from "../../shared/describe_error.ts";
import { oneLine } from "../../shared/text.ts";
import { UnreadableRowError } from "../codec.ts";

export interface PostgresClientOptions {
  readonly connections: Pick<Connections, "connectDatabase" | "explain">;
  readonly clock: Clock;
  readonly randomId: () => string;
  /** For each exchange with the server. @default 15 seconds */
  readonly timeoutMs?: number;
}

/** For connecting to one server, with authentication. */
const CONNECT_TIMEOUT_MS = 5_000;
const EXCHANGE_TIMEOUT_MS = 15_000;
/** The server cancels a lock, and then a statement, before the client closes the connection. */
const LOCK_SHARE = 1 / 6;
const STATEMENT_SHARE = 2 / 3;

const ATTEMPTS_MAX = 4;
const PAUSE_MS = 20;
/** Before the next attempt to connect: twice as long after each failure. */
const BACKOFF_MS = 250;
const BACKOFF_MS_MAX = 2_000;

/** SQLSTATE of errors that a retry can resolve: a lock, a deadlock, a timeout, a conflict. */
const REPEATABLE: ReadonlySet<string> = new Set(["55P03", "40P01", "57014", "40001"]);
/** SQLSTATE of a server that ends the connection, or is no longer writable. */
const LOST = /^(?:08|57P0[123]|25006)/;
const LOCK_NOT_AVAILABLE = "55P03";

/** A process that was stopped within a transaction keeps its locks. Readers have no such locks. */
const END_BLOCKERS = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity AS other
  WHERE usename = current_user AND datname = current_database() AND pid <> pg_backend_pid()
    AND xact_start < clock_timestamp() - current_setting('lock_timeout')::interval
    AND EXISTS (SELECT FROM pg_locks JOIN pg_class ON pg_class.oid = relation
      JOIN pg_namespace ON pg_namespace.oid = relnamespace
      WHERE pg_locks.pid = other.pid AND mode = 'RowExclusiveLock' AND nspname = current_schema())`;

/** The connection of a unit of work: statements, one after the other. */
export type Session = Pick<PostgresConnection, "run">;

/** Runs units of work in turn. One of unknown outcome is repeated, so each must be the same when it is done twice. */
export class PostgresClient {
  readonly #place: PostgresPlace;
  readonly #options: PostgresClientOptions;
  #connection: PostgresConnection | null = null;
  #last: Promise<unknown> = Promise.resolve();
  readonly #closing = createAbort();
  #failure: { readonly error: unknown; readonly retryAtMs: number; readonly delayMs: number } | null = null;

  constructor(place: PostgresPlace, options: PostgresClientOptions) {
    this.#place = place;
    this.#options = options;
  }

  /** Runs one statement, which is a transaction by itself. */
  query(sql: string, parameters: readonly Parameter[] = []): Promise<StatementResult> {
    return this.work((session) => session.run(sql, parameters));
  }

  transaction<T>(work: (session: Session) => Promise<T>, mode = "READ COMMITTED"): Promise<T> {
    return this.work(async (session) => {
      await session.run(`BEGIN ISOLATION LEVEL ${mode}`);
      try {
        const answer = await work(session);
        await session.run("COMMIT");
        return answer;
      } catch (error) {
        // On a connection that broke, the server does that.
        await session.run("ROLLBACK").catch(() => {});
        throw error;
      }
    });
  }

  /** Runs a unit of work behind those before it, and repeats it while another attempt can succeed. */
  work<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => this.#attempt(work));
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** Closes it; running statements reject. */
  close(): void {
    this.#closing.abort();
    this.#connection?.close();
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  async #attempt<T>(work: (session: Session) => Promise<T>): Promise<T> {
    let lockFailures = 0;
    for (let triesLeft = ATTEMPTS_MAX - 1;; triesLeft--) {
      const connection = await this.#connected();
      try {
        return await work(connection);
      } catch (error) {
        const code = error instanceof PostgresError ? error.code : "";
        if (LOST.test(code)) connection.close();
        const isLost = !connection.isOpen;
        const isRepeatable = isLost ? !(error instanceof ProtocolError) : REPEATABLE.has(code);
        if (this.#isClosed || triesLeft === 0 || !isRepeatable) throw error;
        if (isLost) continue;
        if (code === LOCK_NOT_AVAILABLE && ++lockFailures === 2) {
          await connection.run(END_BLOCKERS).catch(() => {});
        }
      }
      await pause(this.#options.clock, PAUSE_MS);
    }
  }

  async #connected(): Promise<PostgresConnection> {
    if (this.#isClosed) throw new ConnectionLostError("it was closed");
    if (this.#connection?.isOpen) return this.#connection;
    const { clock } = this.#options;
    if (this.#failure !== null && clock.monotonicMs() < this.#failure.retryAtMs) throw this.#failure.error;
    try {
      this.#connection = await this.#connectToAny();
    } catch (error) {
      if (this.#isClosed) throw new ConnectionLostError("it was closed");
      const delayMs = Math.min(2 * (this.#failure?.delayMs ?? BACKOFF_MS / 2), BACKOFF_MS_MAX);
      this.#failure = { error, retryAtMs: clock.monotonicMs() + delayMs, delayMs };
      throw error;
    }
    this.#failure = null;
    return this.#connection;
  }

  /** Tries the servers in order and keeps the first one that is writable. */
  async #connectToAny(): Promise<PostgresConnection> {
    const failures: (readonly [server: string, error: ServerUnusableError])[] = [];
    for (const target of this.#place.targets) {
      let phase: ConnectionPhase = "connecting";
      try {
        return await this.#connect(target, (next) => phase = next);
      } catch (error) {
        const facts = { target, place: this.#place, phase, ...this.#options };
        failures.push([nameOf(target), explainServer(error, facts)]);
      }
    }
    const first = failures[0]?.[1];
    if (first !== undefined && failures.length === 1) throw first;
    const reasons = failures.map(([server, { message }]) => `${server}: ${message}`);
    throw new ServerUnusableError(reasons.join("; "), {
      cause: first?.cause,
      isTemporary: failures.some(([, { isTemporary }]) => isTemporary),
    });
  }

  async #connect(target: DatabaseTarget, onPhase: (phase: ConnectionPhase) => void) {
    const { clock, randomId, timeoutMs = EXCHANGE_TIMEOUT_MS } = this.#options;
    const { user, database, password, schema, prepare } = this.#place;
    const bare = await this.#connectBare(target, onPhase);
    const settings = {
      search_path: `"${schema.replaceAll('"', '""')}"`,
      synchronous_commit: "on",
      default_transaction_isolation: "read committed",
      statement_timeout: String(Math.round(timeoutMs * STATEMENT_SHARE)),
      lock_timeout: String(Math.round(timeoutMs * LOCK_SHARE)),
      idle_in_transaction_session_timeout: String(timeoutMs),
    };
    const connection = this.#connection = await PostgresConnection.start(bare, {
      user,
      database,
      password,
      isPrivate: "socketPath" in target || target.tls !== null,
      // A pooler rejects them: there they belong to the role.
      settings: prepare ? settings : {},
      prepare,
      clock,
      timeoutMs,
      nonce: randomId(),
      signal: this.#closing.signal,
    });
    try {
      const { rows } = await connection.run(
        "SELECT pg_is_in_recovery()::int + (current_setting('transaction_read_only') = 'on')::int AS read_only",
      );
      if (rows[0]?.["read_only"] === 0) return connection;
      throw new ServerUnusableError("it is a standby, which is read-only; name the primary", {
        isTemporary: false,
      });
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  async #connectBare(target: DatabaseTarget, onPhase: (phase: ConnectionPhase) => void) {
    const { connections, clock } = this.#options;
    using deadline = startDeadline(clock, CONNECT_TIMEOUT_MS, this.#closing.signal);
    try {
      return await connections.connectDatabase(target, { onPhase, signal: deadline.signal });
    } catch (error) {
      if (!deadline.isTimeUp) throw error;
      throw new ConnectionLostError(`no response within ${CONNECT_TIMEOUT_MS / 1000} s`);
    }
  }
}

/** Runs work on a store in PostgreSQL; errors become a {@linkcode StoreError}. */
export interface Access extends Dialect {
  read<T>(work: () => Promise<T>): Promise<T>;
  write<T>(work: () => Promise<T>): Promise<T>;
}

/** A server that can't be used; the message is one line. */
class ServerUnusableError extends Error {
  override readonly name = "ServerUnusableError";
  /** Whether it may be usable later, without a change of the config or the server. */
  readonly isTemporary: boolean;

  constructor(message: string, { isTemporary, cause }: ErrorOptions & { readonly isTemporary: boolean }) {
    super(message, { cause });
    this.isTemporary = isTemporary;
  }
}

interface ServerFacts {
  readonly target: DatabaseTarget;
  readonly place: PostgresPlace;
  readonly phase: ConnectionPhase;
  readonly connections: Pick<Connections, "explain">;
}

function nameOf(target: DatabaseTarget): string {
  return "socketPath" in target ? target.socketPath : hostAndPort(target.host, target.port);
}

function explainServer(
  error: unknown,
  { target, place, phase, connections }: ServerFacts,
): ServerUnusableError {
  const unusable = (reason: string, isTemporary: boolean): ServerUnusableError =>
    new ServerUnusableError(reason, { cause: error, isTemporary });
  if (error instanceof ServerUnusableError) return error;
  if (error instanceof ProtocolError) return unusable(`server ${error.message}`, false);
  if (error instanceof PostgresError) {
    return unusable(explainSqlState(error, place), UNREACHABLE.test(error.code));
  }
  if (error instanceof ConnectionLostError) return unusable(`${error.message}; ${CHECK_ADDRESS}`, true);
  if (error instanceof Deno.errors.NotCapable) {
    return unusable(`missing permission: ${error.message}`, false);
  }
  if ("socketPath" in target) {
    const code = systemCodeOf(error);
    return unusable(SOCKET_REASONS[code] ?? messageOf(error), code !== "EACCES");
  }
  const { reason } = connections.explain(error, target, phase);
  const fix = TLS_FIXES.find(([pattern]) => pattern.test(reason))?.[1];
  const isTemporary = fix === undefined && !reason.includes("is not PostgreSQL");
  return unusable(`${reason}; ${fix ?? CHECK_ADDRESS}`, isTemporary);
}

/** SQLSTATE of a server that is starting, stopping, or has too many connections. */
const UNREACHABLE = /^(?:08|53300|57P0[123])/;

const CHECK_ADDRESS = "check host and port, and that PostgreSQL runs there";

const SOCKET_REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no socket of that name; check the path, and that PostgreSQL runs",
  ECONNREFUSED: "connection refused; check that PostgreSQL runs",
  EACCES: "permission denied; run as a user who may use the socket",
};

const TLS_FIXES: readonly (readonly [pattern: RegExp, fix: string])[] = [
  [/expired/, "renew the certificate of the server"],
  [/not valid for/, "name the host as in the certificate"],
  [/certificate/, 'set "ca_file" to the certificate of its authority'],
  [/does not accept TLS/, 'set "ssl = on" in postgresql.conf'],
];

/** The hint for an error of the server, by its SQLSTATE. */
const SQL_STATES: Readonly<Record<string, (place: PostgresPlace) => string>> = {
  "28P01": ({ user }) => `wrong password, or no role "${user}"; check "user" and "password"`,
  "28000": ({ user }) => `role "${user}" may not log in; check "user" and pg_hba.conf`,
  "3D000": ({ database, user }) =>
    `database "${database}" does not exist; create it: createdb --owner=${user} ${database}`,
  "42501": ({ user, schema }) =>
    `role "${user}" lacks rights; grant them, see: monitor state schema (${schema})`,
  "42P07": ({ schema }) => `schema "${schema}" has other tables of the same names; use another "schema"`,
  "53300": () => "too many connections; raise max_connections",
  "53100": () => "the disk of the server is full; free some space",
};

const FAILURES: Readonly<Record<string, StoreFailure>> = { "42501": "denied", "53100": "full" };

function explainSqlState({ code, message }: PostgresError, place: PostgresPlace): string {
  const fix = SQL_STATES[code]?.(place);
  return fix ?? `server error: ${oneLine(message)}${code === "" ? "" : ` (SQLSTATE ${oneLine(code)})`}`;
}

interface Attempt {
  readonly action: "open" | "read" | "write";
  readonly place: PostgresPlace;
}

export async function explaining<T>(attempt: Attempt, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explainPostgresFailure(error, attempt) ?? error;
  }
}

/** Turns an error of the client into one of a store; `null` for one that is a bug. */
export function explainPostgresFailure(error: unknown, { action, place }: Attempt): StoreError | null {
  if (error instanceof StoreError) return error;
  const failed = (reason: string, failure: StoreFailure, cause: unknown = error): StoreError =>
    new StoreError(`cannot ${action} state "${place.url}": ${reason}`, failure, { cause });
  if (error instanceof ServerUnusableError) {
    // The cause names a permission that the runtime did not grant.
    return failed(error.message, error.isTemporary ? "unreachable" : "other", error.cause ?? error);
  }
  if (error instanceof PostgresError) {
    const failure = FAILURES[error.code] ?? (UNREACHABLE.test(error.code) ? "unreachable" : "other");
    return failed(explainSqlState(error, place), failure);
  }
  if (error instanceof ConnectionLostError) return failed(error.message, "unreachable");
  if (error instanceof ProtocolError) return failed(`server ${error.message}`, "other");
  return error instanceof UnreadableRowError ? failed(error.message, "other") : null;
}
