/** Copies a whole state from one database to another, as it is stored. */
import type { SQLInputValue } from "node:sqlite";
import { StoreError } from "../domain/store.ts";
import type { Dialect } from "./sql/rows.ts";
import type { Declared } from "./sql/table_declaration.ts";
import { TABLES } from "./sql/tables.ts";

/** A row, in the order of {@linkcode copiedColumns}. */
type StoredRow = readonly SQLInputValue[];

type InsertRows = (table: Declared, rows: readonly StoredRow[]) => Promise<void>;

export interface StateTables extends Pick<Dialect, "parameter" | "select"> {
  /** For messages. */
  readonly path: string;
  /** Does some inserts as one transaction, which may be repeated if it fails. */
  fill(work: (insert: InsertRows) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

const PAGE_ROWS = 2_000;

/** The columns of a row, with the `id` that the database has given it. */
export function copiedColumns({ declared, primary }: Declared): readonly string[] {
  return [...primary === null ? ["id"] : [], ...declared.map(({ name }) => name)];
}

/**
 * Copies everything, and compares it row by row afterwards. Returns the number of rows of each table.
 *
 * @throws {StoreError} If the target has rows, or differs afterwards because a monitor has written meanwhile.
 */
export async function copyState(from: StateTables, to: StateTables): Promise<ReadonlyMap<string, number>> {
  for (const table of TABLES) {
    if (!(await pagesOf(to, table).next()).done) {
      throw new StoreError(`cannot copy to state "${to.path}": it is not empty; name a new one`, "other");
    }
  }
  const counts = new Map<string, number>();
  await to.fill(async (insert) => {
    for (const table of TABLES) {
      counts.set(table.name, 0);
      for await (const rows of pagesOf(from, table)) {
        await insert(table, rows);
        counts.set(table.name, (counts.get(table.name) ?? 0) + rows.length);
      }
    }
  });
  for (const table of TABLES) await compare(table, from, to);
  return counts;
}

async function* pagesOf(
  { parameter, select }: StateTables,
  table: Declared,
): AsyncGenerator<readonly StoredRow[]> {
  const columns = copiedColumns(table);
  const keys = table.primary ?? ["id"];
  const behind = `WHERE (${keys.join(", ")}) > (${keys.map((_, index) => parameter(index + 1)).join(", ")})`;
  for (let after: readonly number[] = [];;) {
    const sql = `SELECT ${columns.join(", ")} FROM ${table.name} ${after.length === 0 ? "" : behind}
      ORDER BY ${keys.join(", ")} LIMIT ${PAGE_ROWS}`;
    const rows: readonly StoredRow[] = await select(
      sql,
      after,
      (row) => columns.map((name) => row[name] ?? null),
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    after = keys.map((name) => Number(last[columns.indexOf(name)]));
  }
}

async function compare(table: Declared, from: StateTables, to: StateTables): Promise<void> {
  const copies = pagesOf(to, table);
  for await (const rows of pagesOf(from, table)) {
    const { value: copied } = await copies.next();
    if (textOf(rows) !== textOf(copied ?? [])) throw differs(table, to);
  }
  if ((await copies.next()).done !== true) throw differs(table, to);
}

function textOf(rows: readonly StoredRow[]): string {
  return JSON.stringify(rows, (_key, value) => value instanceof Uint8Array ? value.toHex() : value);
}

function differs({ name }: Declared, { path }: StateTables): StoreError {
  return new StoreError(
    `cannot copy to state "${path}": ${name} changed meanwhile; stop all monitors, and copy to a new state`,
    "other",
  );
}
