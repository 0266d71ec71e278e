/** The reason why a server can't be used, or has rejected a statement, with a hint. */
import type { ConnectionPhase, Connections, DatabaseTarget } from "../../domain/connections.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import type { PostgresPlace } from "../../domain/stores.ts";
import { StoreError, type StoreFailure } from "../../domain/store.ts";
import { messageOf, systemCodeOf } from "../../shared/describe_error.ts";
import { oneLine } from "../../shared/text.ts";
import { UnreadableRowError } from "../codec.ts";
import { ConnectionLostError } from "../../shared/postgres/postgres_connection.ts";
import { ProtocolError } from "../../shared/postgres/protocol.ts";
import { PostgresError } from "../../shared/postgres/statement_response.ts";

/** A server that can't be used; the message is one line. */
export class ServerUnusableError extends Error {
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

/** The server of a target, as people name it. */
export function nameOf(target: DatabaseTarget): string {
  return "socketPath" in target ? target.socketPath : hostAndPort(target.host, target.port);
}

export function explainServer(error: unknown, facts: ServerFacts): ServerUnusableError {
  const reason = reasonOf(error, facts);
  return new ServerUnusableError(reason, { cause: error, isTemporary: isTemporary(error, reason, facts) });
}

function isTemporary(error: unknown, reason: string, { target }: ServerFacts): boolean {
  if (error instanceof ServerUnusableError) return error.isTemporary;
  if (error instanceof PostgresError) return UNREACHABLE.test(error.code);
  if (error instanceof ProtocolError || error instanceof Deno.errors.NotCapable) return false;
  if (error instanceof ConnectionLostError) return true;
  if ("socketPath" in target) return systemCodeOf(error) !== "EACCES";
  return [/is not PostgreSQL/, ...TLS_FIXES.map(([pattern]) => pattern)].every((other) =>
    !other.test(reason)
  );
}

/** SQLSTATE of a server that is starting, stopping, or has too many connections. */
const UNREACHABLE = /^(?:08|53300|57P0[123])/;

function reasonOf(error: unknown, { target, place, phase, connections }: ServerFacts): string {
  if (error instanceof ServerUnusableError) return error.message;
  if (error instanceof ProtocolError) return `server ${error.message}`;
  if (error instanceof PostgresError) return explainSqlState(error, place);
  if (error instanceof ConnectionLostError) return `${error.message}; ${CHECK_ADDRESS}`;
  if (error instanceof Deno.errors.NotCapable) return `missing permission: ${error.message}`;
  if ("socketPath" in target) return SOCKET_REASONS[systemCodeOf(error)] ?? messageOf(error);
  const { reason } = connections.explain(error, target, phase);
  return `${reason}; ${TLS_FIXES.find(([pattern]) => pattern.test(reason))?.[1] ?? CHECK_ADDRESS}`;
}

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
  const failed = `cannot ${action} state "${place.url}": `;
  if (error instanceof ServerUnusableError) {
    // The cause names a permission that the runtime did not grant.
    const cause = error.cause instanceof Error ? error.cause : error;
    return new StoreError(failed + error.message, error.isTemporary ? "unreachable" : "other", { cause });
  }
  if (error instanceof PostgresError) {
    const failure = FAILURES[error.code] ?? (UNREACHABLE.test(error.code) ? "unreachable" : "other");
    return new StoreError(failed + explainSqlState(error, place), failure, { cause: error });
  }
  if (error instanceof ConnectionLostError) {
    return new StoreError(failed + error.message, "unreachable", { cause: error });
  }
  if (error instanceof ProtocolError) {
    return new StoreError(`${failed}server ${error.message}`, "other", { cause: error });
  }
  return error instanceof UnreadableRowError
    ? new StoreError(failed + error.message, "other", { cause: error })
    : null;
}
