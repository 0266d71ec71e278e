/** The schema of a state in PostgreSQL, and its version. */
import type { PostgresPlace } from "../../domain/stores.ts";
import { StoreError } from "../../domain/store.ts";
import { type Migration, newerVersion } from "../sql/tables.ts";
import type { PostgresClient } from "./postgres_client.ts";
import { PostgresError, type StatementResult } from "../../shared/postgres/protocol.ts";
import { POSTGRES_MIGRATIONS } from "./postgres_tables.ts";

/** Of a schema without our tables: undefined_table, undefined_column. */
const NONE: ReadonlySet<string> = new Set(["42P01", "42703"]);

/** The SQL that a DBA may run instead of the monitor. */
export function schemaSql(schema: string): string {
  return [
    `CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}`,
    `SET search_path = ${quoted(schema)}`,
    ...stepsAfter(0, POSTGRES_MIGRATIONS),
  ]
    .map((statement) => `${statement};\n`).join("");
}

/**
 * Brings the tables to the present version in one transaction. Safe when several processes do it at once.
 *
 * @throws {StoreError} If they are of a newer version, or to be read and not of the present one; `missing` if there
 * are none.
 */
export async function prepareSchema(
  client: PostgresClient,
  place: PostgresPlace,
  access: "own" | "read" | "alongside",
  migrations: readonly Migration[] = POSTGRES_MIGRATIONS,
): Promise<void> {
  const version = await readVersion(client);
  if (version === migrations.length) return;
  if (version > migrations.length) {
    throw new StoreError(
      `cannot open state "${place.url}": ${newerVersion(version, migrations.length)}`,
      "other",
    );
  }
  if (access === "read") {
    throw version === 0
      ? new StoreError(`cannot read state "${place.url}": there is none yet; run the checks first`, "missing")
      : new StoreError(
        `cannot read state "${place.url}": it is of the older version ${version}; run the checks once, which updates it`,
        "other",
      );
  }
  await migrate(client, place, migrations);
}

async function readVersion(client: PostgresClient): Promise<number> {
  try {
    return versionOf(await client.query(SELECT_VERSION));
  } catch (error) {
    if (error instanceof PostgresError && NONE.has(error.code)) return 0;
    throw error;
  }
}

const SELECT_VERSION = "SELECT schema_version FROM meta";

function versionOf({ rows: [row] }: StatementResult): number {
  return Number(row?.["schema_version"] ?? 0);
}

async function migrate(
  client: PostgresClient,
  { schema, prepare }: PostgresPlace,
  migrations: readonly Migration[],
): Promise<void> {
  await client.transaction(async (session) => {
    // Of several processes, the others wait here, and find it done.
    await session.run("SELECT pg_advisory_xact_lock(hashtext($1))", [`monitor ${schema}`]);
    const found = await session.run("SELECT FROM pg_namespace WHERE nspname = $1", [schema]);
    if (found.count === 0 && prepare) await session.run(`CREATE SCHEMA ${quoted(schema)}`);
    const column = await session.run(
      "SELECT FROM pg_attribute WHERE attrelid = to_regclass('meta') AND attname = 'schema_version'",
    );
    const version = column.count === 0 ? 0 : versionOf(await session.run(SELECT_VERSION));
    if (version >= migrations.length) return;
    for (const statement of stepsAfter(version, migrations)) await session.run(statement);
  });
}

function stepsAfter(version: number, migrations: readonly Migration[]): string[] {
  return [...migrations.slice(version).flat(), `UPDATE meta SET schema_version = ${migrations.length}`];
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
