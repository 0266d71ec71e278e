/** The schema of a state in PostgreSQL, and its version. */
import type { PostgresPlace } from "../../domain/postgres_place.ts";
import { StoreError } from "../../domain/store.ts";
import { newerVersion } from "../sqlite/migrations.ts";
import type { PostgresClient } from "./postgres_client.ts";
import { PostgresError } from "./postgres_connection.ts";
import { CREATE_SCHEMA, SCHEMA_VERSION } from "./postgres_tables.ts";

const UNDEFINED_TABLE = "42P01";
/** Another process has made the same at the same moment. */
const MADE_MEANWHILE: ReadonlySet<string> = new Set(["42P06", "42P07", "23505"]);

/** The SQL that a DBA may run instead of the monitor. */
export function schemaSql(schema: string): string {
  return [
    `CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}`,
    `SET search_path = ${quoted(schema)}`,
    ...CREATE_SCHEMA,
  ]
    .map((statement) => `${statement};\n`).join("");
}

/**
 * Makes the tables if there are none.
 *
 * @throws {StoreError} If they are of another version; `missing` if they are to be read and there are none.
 */
export async function prepareSchema(
  client: PostgresClient,
  place: PostgresPlace,
  access: "own" | "read" | "alongside",
): Promise<void> {
  let version = await readVersion(client);
  if (version === null && access === "read") {
    throw new StoreError(
      `cannot read state "${place.url}": there is none yet; run the checks first`,
      "missing",
    );
  }
  if (version === null) {
    await createTables(client, place);
    version = await readVersion(client);
  }
  if (version === SCHEMA_VERSION) return;
  const reason = version !== null && version > SCHEMA_VERSION
    ? newerVersion(version, SCHEMA_VERSION)
    : `its schema has the older version ${version}, expected ${SCHEMA_VERSION}; use the older monitor, or another schema`;
  throw new StoreError(`cannot open state "${place.url}": ${reason}`, "other");
}

async function readVersion(client: PostgresClient): Promise<number | null> {
  try {
    const [row] = (await client.query("SELECT schema_version FROM meta")).rows;
    return row === undefined ? 0 : Number(row["schema_version"]);
  } catch (error) {
    if (error instanceof PostgresError && error.code === UNDEFINED_TABLE) return null;
    throw error;
  }
}

async function createTables(client: PostgresClient, { schema, prepare }: PostgresPlace): Promise<void> {
  try {
    await client.transaction(async (session) => {
      const found = await session.run("SELECT FROM pg_namespace WHERE nspname = $1", [schema]);
      if (found.count === 0 && prepare) await session.run(`CREATE SCHEMA ${quoted(schema)}`);
      for (const statement of CREATE_SCHEMA) await session.run(statement);
    });
  } catch (error) {
    if (!(error instanceof PostgresError && MADE_MEANWHILE.has(error.code))) throw error;
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
