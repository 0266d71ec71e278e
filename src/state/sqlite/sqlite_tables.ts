import { explaining, openConnection, type SqliteConnection } from "./sqlite_connection.ts";
import { copiedColumns, type StateTables } from "../copy_state.ts";
import { openSqliteStore, type SqliteStoreOptions } from "./sqlite_store.ts";
import { DatabaseSync } from "node:sqlite";

/** Opens the tables of a state in SQLite, which this process owns. Throws a {@linkcode StoreError} if it can't. */
export async function openSqliteTables(path: string, options: SqliteStoreOptions): Promise<StateTables> {
  const { store } = await openSqliteStore(path, options);
  await store.close();
  const connection = await openConnection(path, { readOnly: options.access === "read" });
  return {
    path,
    parameter: (place) => `?${place}`,
    select: (sql, parameters, read) =>
      explaining({ action: "read", path }, () => connection.all(sql, ...parameters).map(read)),
    fill: (work) => explaining({ action: "write", path }, () => fill(connection, work)),
    close: () => Promise.resolve(connection.close()),
  };
}

async function fill(connection: SqliteConnection, work: Parameters<StateTables["fill"]>[0]): Promise<void> {
  connection.run("BEGIN IMMEDIATE");
  try {
    await work((table, rows) => {
      const columns = copiedColumns(table);
      const insert = `INSERT INTO ${table.name} (${columns.join(", ")}) VALUES (${
        columns.map(() => "?").join(", ")
      })`;
      for (const row of rows) connection.run(insert, ...row);
      return Promise.resolve();
    });
    connection.run("COMMIT");
  } catch (error) {
    connection.run("ROLLBACK");
    throw error;
  }
}

/** More rows of a table are not read. */
const ROWS_MAX = 100_000;
/** Larger tables are rejected, before they are in memory. */
const BYTES_MAX = 32 * 1024 * 1024;

/**
 * Reads tables of another application's database, without those that it lacks. The application may run. The
 * connection writes nothing to tables, but is not read-only: a read-only one leaves its files of the write-ahead log
 * behind.
 *
 * @throws {Error} If it is no database, damaged, or if its tables are too large.
 */
export function readForeignTables(
  path: string,
  names: readonly string[],
): ReadonlyMap<string, readonly Readonly<Record<string, unknown>>[]> {
  const database = new DatabaseSync(path);
  try {
    database.exec("PRAGMA query_only = ON");
    const existing = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    const known = new Set(existing.map(({ name }) => name));
    let bytesLeft = BYTES_MAX;
    return new Map(
      names.filter((name) => known.has(name)).map((name) => {
        bytesLeft -= sizeOf(name, database);
        if (bytesLeft < 0) throw new RangeError(`its tables have more than ${BYTES_MAX / 1024 ** 2} MiB`);
        return [name, database.prepare(`SELECT * FROM "${name}" LIMIT ${ROWS_MAX}`).all()];
      }),
    );
  } finally {
    database.close();
  }
}

/** The characters and bytes of all values that are read of a table. */
function sizeOf(table: string, database: DatabaseSync): number {
  const columns = database.prepare("SELECT name FROM pragma_table_info(?)").all(table);
  const lengths = columns.map(({ name }) => `ifnull(length("${String(name).replaceAll('"', '""')}"), 0)`);
  const statement = `SELECT total(${
    ["0", ...lengths].join(" + ")
  }) AS size FROM (SELECT * FROM "${table}" LIMIT ${ROWS_MAX})`;
  return Number(database.prepare(statement).get()?.size ?? 0);
}
