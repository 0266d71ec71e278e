import type { PostgresPlace } from "../../domain/stores.ts";
import { copiedColumns, type CopiedTable, keyColumns, PAGE_ROWS, type StateTables } from "../copy_state.ts";
import { TABLES } from "../sql/tables.ts";
import { PostgresClient, type PostgresClientOptions, type Session } from "./postgres_client.ts";
import { prepareSchema } from "./postgres_schema.ts";
import { newRows, toArrays } from "./postgres_tables.ts";
import { explainPostgresFailure } from "./server_failure.ts";

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
  const explaining = async <T>(action: "open" | "read" | "write", work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw explainPostgresFailure(error, { action, place }) ?? error;
    }
  };
  try {
    await explaining("open", () => prepareSchema(client, place, options.access));
  } catch (error) {
    client.close();
    throw error;
  }
  return {
    path: place.url,
    page: (table, after) =>
      explaining("read", async () => {
        const { rows } = await client.query(selectPage(table, after !== null), after?.map(toParameter) ?? []);
        const columns = copiedColumns(table);
        return rows.map((row) => columns.map((name) => row[name] ?? null));
      }),
    fill: (work) =>
      explaining("write", () =>
        client.transaction(async (session) => {
          await work(async (table, rows) => {
            await session.run(insertRows(table), toArrays(rows, copiedColumns(table).length));
          });
          for (const table of TABLES) await raiseNextId(session, table);
        })),
    close: () => {
      client.close();
      return Promise.resolve();
    },
  };
}

/** Keys are numbers. */
function toParameter(value: unknown): number {
  return Number(value);
}

function selectPage(table: CopiedTable, isBehind: boolean): string {
  const keys = keyColumns(table).join(", ");
  const behind = isBehind
    ? `WHERE (${keys}) > (${keyColumns(table).map((_, index) => `$${index + 1}`).join(", ")})`
    : "";
  return `SELECT ${
    copiedColumns(table).join(", ")
  } FROM ${table.name} ${behind} ORDER BY ${keys} LIMIT ${PAGE_ROWS}`;
}

/** Columns without a default that no other database has: records begin with a version. */
const MORE_VALUES: Readonly<Record<string, readonly [columns: string, values: string]>> = {
  checks: [", version, replaces", ", 1, 0"],
};

function insertRows(table: CopiedTable): string {
  const columns = copiedColumns(table).join(", ");
  const [more, values] = MORE_VALUES[table.name] ?? ["", ""];
  const rows = newRows(table, table.primary === null ? { before: [["id", "bigint"]] } : {});
  return `INSERT INTO ${table.name} (${columns}${more}) OVERRIDING SYSTEM VALUE SELECT ${columns}${values} FROM ${rows}`;
}

async function raiseNextId(session: Session, { name, primary }: CopiedTable): Promise<void> {
  if (primary !== null) return;
  await session.run(
    `SELECT setval(pg_get_serial_sequence('${name}', 'id'), coalesce(max(id), 0) + 1, false) FROM ${name}`,
  );
}
