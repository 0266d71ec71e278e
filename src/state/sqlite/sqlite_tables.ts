import { explaining, openConnection, type SqliteConnection } from "./sqlite_connection.ts";
import { copiedColumns, selectPage, type StateTables } from "../copy_state.ts";
import { openSqliteStore, type SqliteStoreOptions } from "./sqlite_store.ts";

/** Opens the tables of a state in SQLite, which this process owns. Throws a {@linkcode StoreError} if it can't. */
export async function openSqliteTables(path: string, options: SqliteStoreOptions): Promise<StateTables> {
  const { store } = await openSqliteStore(path, options);
  await store.close();
  const connection = await openConnection(path, { readOnly: options.access === "read" });
  return {
    path,
    page: (table, after) =>
      explaining({ action: "read", path }, () => {
        const columns = copiedColumns(table);
        const rows = connection.all(selectPage(table, after !== null, () => "?"), ...after ?? []);
        return rows.map((row) => columns.map((name) => row[name] ?? null));
      }),
    fill: (work) => explaining({ action: "write", path }, () => fill(connection, work)),
    close: () => {
      connection.close();
      return Promise.resolve();
    },
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
