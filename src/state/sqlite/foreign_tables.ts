import { DatabaseSync } from "node:sqlite";

/** More rows of a table are not read. */
const ROWS_MAX = 100_000;

/**
 * Reads tables of another application's database, without those that it lacks. The application may run. The
 * connection writes nothing to tables, but is not read-only: a read-only one leaves its files of the write-ahead log
 * behind.
 *
 * @throws {Error} If it is no database, or damaged.
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
    return new Map(
      names.filter((name) => known.has(name)).map((name) => [
        name,
        database.prepare(`SELECT * FROM "${name}" LIMIT ${ROWS_MAX}`).all(),
      ]),
    );
  } finally {
    database.close();
  }
}
