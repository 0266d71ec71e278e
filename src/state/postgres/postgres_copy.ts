import type { PostgresPlace } from "../../domain/stores.ts";
import { copiedColumns, type StateTables } from "../copy_state.ts";
import type { Declared } from "../sql/table_declaration.ts";
import { TABLES } from "../sql/tables.ts";
import { explaining, PostgresClient, type PostgresClientOptions, type Session } from "./postgres_client.ts";
import { newRows, prepareSchema, toArrays } from "./postgres_tables.ts";

/**
 * Opens the tables of a state in PostgreSQL; they are created unless they are only to be read.
 *
 * @throws {StoreError} If it can't be opened.
 */
export async function openPostgresTables(
  place: PostgresPlace,
  options: PostgresClientOptions & { readonly access: "own" | "read" },
): Promise<StateTables> {
  const client = new PostgresClient(place, options);
  try {
    await explaining({ action: "open", place }, () => prepareSchema(client, place, options.access));
  } catch (error) {
    client.close();
    throw error;
  }
  return {
    path: place.url,
    parameter: (place) => `$${place}`,
    select: (sql, parameters, read) =>
      explaining({ action: "read", place }, async () => (await client.query(sql, parameters)).rows.map(read)),
    fill: (work) =>
      explaining({ action: "write", place }, () =>
        client.transaction(async (session) => {
          await work(async (table, rows) => {
            await session.run(insertRows(table), toArrays(rows, copiedColumns(table).length));
          });
          for (const table of TABLES) await raiseNextId(session, table);
        })),
    close: () => Promise.resolve(client.close()),
  };
}

/** Columns without a default that no other database has: records begin with a version. */
const MORE_VALUES: Readonly<Record<string, readonly [columns: string, values: string]>> = {
  checks: [", version, replaces", ", 1, 0"],
};

function insertRows(table: Declared): string {
  const columns = copiedColumns(table).join(", ");
  const [more, values] = MORE_VALUES[table.name] ?? ["", ""];
  const rows = newRows(table, table.primary === null ? { before: [["id", "bigint"]] } : {});
  return `INSERT INTO ${table.name} (${columns}${more}) OVERRIDING SYSTEM VALUE SELECT ${columns}${values} FROM ${rows}`;
}

async function raiseNextId(session: Session, { name, primary }: Declared): Promise<void> {
  if (primary !== null) return;
  await session.run(
    `SELECT setval(pg_get_serial_sequence('${name}', 'id'), coalesce(max(id), 0) + 1, false) FROM ${name}`,
  );
}
