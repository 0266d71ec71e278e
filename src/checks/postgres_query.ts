import type { CheckOf } from "../domain/check.ts";
import { POSTGRES_URL } from "../shared/database_url.ts";
import type { CheckKindEntry } from "../domain/check_kind.ts";
import type { Connection } from "../domain/connections.ts";
import { parseJson } from "../shared/json_values.ts";
import { ConnectionLostError, PostgresConnection } from "../shared/postgres/postgres_connection.ts";
import { PostgresError, ProtocolError } from "../shared/postgres/protocol.ts";
import {
  DATABASE_KIND,
  DatabaseFailure,
  type DatabaseSession,
  observeDatabase,
  type QueryResult,
  queryResult,
  sqlTarget,
} from "./database_check.ts";

export const postgresQueryKind: CheckKindEntry<"postgres_query"> = {
  ...DATABASE_KIND,
  observe: (check, context) =>
    observeDatabase(check, context, { tlsFirst: false, query: (session) => query(check, session) }),
  target: sqlTarget("postgres://USER@HOST/DATABASE", POSTGRES_URL),
};

/** The longest response. Each row counts 64 bytes more, and each value 32. */
const RESPONSE_BYTES_MAX = 2 ** 20;

/** What ends a query that goes on after the check, and the forms of values. */
const SETTINGS = `SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $1, true),
  set_config('datestyle', 'ISO', true), set_config('bytea_output', 'hex', true)`;

/** Runs the query in a read-only transaction, which the server ends when the connection is closed. */
async function query(
  { parameters: { username, password, database = username, query }, timeoutMs }: CheckOf<"postgres_query">,
  session: DatabaseSession,
): Promise<QueryResult> {
  const { connection, tls, isPrivate, context: { system }, signal, enter } = session;
  let readError: unknown = null;
  try {
    if (tls !== null) await startTls(connection, session);
    enter("reading");
    const postgres = await PostgresConnection.start(
      {
        ...connection,
        read: () =>
          connection.read().catch((error) => {
            readError = error;
            throw error;
          }),
      },
      {
        user: username,
        database,
        password: password ?? null,
        isPrivate,
        settings: {},
        prepare: false,
        clock: system.clock,
        timeoutMs,
        nonce: system.randomId(),
        responseBytesMax: RESPONSE_BYTES_MAX,
        signal,
      },
    );
    await postgres.run("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY");
    await postgres.run(SETTINGS, [timeoutMs]);
    const { columns, rows } = await postgres.run(query);
    const [{ name, typeId } = { name: "", typeId: 0 }] = columns;
    return queryResult(columns.length, rows, () => valueOf(rows[0]?.[name], typeId));
  } catch (error) {
    if (error instanceof PostgresError) {
      const { code, message } = error;
      const state = code === "" ? "" : ` (SQLSTATE ${code})`;
      throw new DatabaseFailure(`server error: ${message}${state}${HINTS[code] ?? ""}`, { cause: error });
    }
    if (error instanceof ProtocolError) {
      throw new DatabaseFailure(`server ${error.message}`, { cause: error });
    }
    if (!(error instanceof ConnectionLostError) || readError !== null) throw readError ?? error;
    throw new DatabaseFailure(error.message, { cause: error });
  }
}

/** SSLRequest: its length, and 1234 and 5679 instead of a protocol version. */
const TLS_REQUEST = Uint8Array.of(0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f);

async function startTls(connection: Connection, { tls, enter }: DatabaseSession): Promise<void> {
  enter("STARTTLS");
  await connection.write(TLS_REQUEST);
  const reply = await connection.read();
  if (reply === null) throw new DatabaseFailure("connection closed by the server instead of starting TLS");
  // In clear text, an attacker could have put more there (CVE-2021-23222).
  if (reply.length > 1) throw new DatabaseFailure("server sent more in front of TLS");
  if (reply[0] === "N".charCodeAt(0)) {
    throw new DatabaseFailure(
      'server does not accept TLS; set "ssl = on" in postgresql.conf, or "tls": false',
    );
  }
  if (reply[0] !== "S".charCodeAt(0)) throw new DatabaseFailure("server is not PostgreSQL");
  enter("TLS");
  if (connection.startTls === undefined || tls === null) throw new Error("TLS can be started once, over TCP");
  await connection.startTls(tls);
}

const HINTS: Readonly<Record<string, string>> = {
  "25006": "; the transaction is read-only",
  "57014": "; the query takes longer than the timeout of the check",
};

/** Numbers of types in `pg_type`, and how their text becomes a value. */
const DECODERS: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === "t",
  114: (text) => parseJson(text, text),
  3802: (text) => parseJson(text, text),
  // An offset of whole hours has no minutes.
  1184: (text) => text.replace(/[+-]\d\d$/, "$&:00"),
};

function valueOf(value: unknown, typeId: number): unknown {
  if (value instanceof Uint8Array) return value.toHex();
  return typeof value === "string" ? DECODERS[typeId]?.(value) ?? value : value;
}
