import { openConnection, type SqliteConnection } from "./sqlite_connection.ts";
import { copiedColumns, type CopiedTable, keyColumns, PAGE_ROWS, type StateTables } from "../copy_state.ts";
import { openSqliteStore, type SqliteStoreOptions } from "./sqlite_store.ts";
import { explainStoreFailure } from "./store_failure.ts";

/**
 * Opens the tables of a state in a SQLite database, which this process owns. Only a target is created.
 *
 * @throws {StoreError} If it can't be opened.
 */
export async function openSqliteTables(path: string, options: SqliteStoreOptions): Promise<StateTables> {
  const { store } = await openSqliteStore(path, options);
  await store.close();
  const connection = await openConnection(path, { readOnly: options.access === "read" });
  const explaining = async <T>(action: "read" | "write", work: () => T | Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw explainStoreFailure(error, { action, path }) ?? error;
    }
  };
  return {
    path,
    page: (table, after) =>
      explaining("read", () => {
        const columns = copiedColumns(table);
        const rows = connection.all(selectPage(table, after !== null), ...after ?? []);
        return rows.map((row) => columns.map((name) => row[name] ?? null));
      }),
    fill: (work) => explaining("write", () => fill(connection, work)),
    close: () => {
      connection.close();
      return Promise.resolve();
    },
  };
}

function selectPage(table: CopiedTable, isBehind: boolean): string {
  const keys = keyColumns(table).join(", ");
  const behind = isBehind ? `WHERE (${keys}) > (${keyColumns(table).map(() => "?").join(", ")})` : "";
  return `SELECT ${
    copiedColumns(table).join(", ")
  } FROM ${table.name} ${behind} ORDER BY ${keys} LIMIT ${PAGE_ROWS}`;
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
