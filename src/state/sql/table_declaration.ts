/** Declares a table once: its columns, with how each is stored; the statements and conversions are made from that. */
import type { SQLOutputValue } from "node:sqlite";
import { type Condition, type ConditionCounts, CONDITIONS, eachCondition } from "../../domain/condition.ts";
import { truncateBytes } from "../../shared/text.ts";
import { bytes, type Codec, columnText, json, nullable, number, word } from "../codec.ts";

export type Row = Readonly<Record<string, SQLOutputValue>>;

/** A value of a column, or a parameter of a statement. */
export type StoredValue = string | number | null | Uint8Array;

type Merge = "replace" | "fill" | "keep" | "add" | "tally" | "max" | "min" | "prepend";

/** How an upsert merges the stored value of a column and the new one. */
export const MERGED: Readonly<Record<Merge, (stored: string, added: string) => string>> = {
  replace: (_, added) => added,
  /** A null changes nothing. */
  fill: (stored, added) => `coalesce(${added}, ${stored})`,
  keep: (stored) => stored,
  add: (stored, added) => `${stored} + ${added}`,
  /** As `add`; a null counts as 0. */
  tally: (stored, added) => `coalesce(${stored}, 0) + coalesce(${added}, 0)`,
  max: (stored, added) => `max(${stored}, ${added})`,
  min: (stored, added) => `min(${stored}, ${added})`,
  prepend: (stored, added) => `CAST(${added} || ${stored} AS BLOB)`,
};

export interface Column {
  readonly name: string;
  /** Its type in the database, with constraints. */
  readonly type: string;
  readonly merge: Merge;
  /** Whether a later step adds it to the table; it may be `NULL`. @default false */
  readonly isAdded?: boolean;
}

/** A field of a row, and the columns that store it: one, or one for each condition. */
interface Field<T> {
  readonly columns: readonly Column[];
  /** Appends the values of the columns: a list for each field would be garbage of every run. */
  encode(value: T, into: StoredValue[]): void;
  decode(row: Row): T;
}

export function field<T>(
  name: string,
  type: string,
  { encode, decode, merge = "replace", isAdded = false }: Codec<T, StoredValue> & FieldOptions,
): Field<T> {
  return {
    columns: [{ name, type, merge, isAdded }],
    encode: (value, into) => void into.push(encode(value)),
    decode: (row) => decode(row[name], name),
  };
}

/** @default "replace", and that the first step makes it */
type FieldOptions = Partial<Pick<Column, "merge" | "isAdded">>;

/** A number without a fraction, as all times are. */
export function integer(name: string, options: FieldOptions = {}): Field<number> {
  return field(name, "INTEGER NOT NULL", { ...number, ...options });
}

export function integerOrNull(name: string): Field<number | null> {
  return field(name, "INTEGER", nullable(number));
}

/** A number that may have a fraction. */
export function real(name: string, options: FieldOptions = {}): Field<number> {
  return field(name, "REAL NOT NULL", { ...number, ...options });
}

export function string(name: string): Field<string> {
  return field(name, "TEXT NOT NULL", columnText);
}

/** A text of which the beginning is stored, at most so many bytes. */
export function cutString(name: string, bytesMax: number): Field<string> {
  const encode = (value: string): string => columnText.encode(truncateBytes(value, bytesMax));
  return field(name, "TEXT NOT NULL", { ...columnText, encode });
}

export function oneOf<T extends string>(name: string, words: readonly T[]): Field<T> {
  return field(name, "TEXT NOT NULL", word(words));
}

export function stringOrNull(name: string, options: FieldOptions = {}): Field<string | null> {
  return field(name, "TEXT", { ...nullable(columnText), ...options });
}

export function jsonField<T>(name: string, codec: Codec<T>): Field<T> {
  return field(name, "TEXT NOT NULL", json(codec));
}

export function jsonFieldOrNull<T>(
  name: string,
  codec: Codec<T>,
  options: FieldOptions = {},
): Field<T | null> {
  return field(name, "TEXT", { ...nullable(json(codec)), ...options });
}

export function blob(name: string, options: FieldOptions = {}): Field<Uint8Array> {
  return field(name, "BLOB NOT NULL", { ...bytes, ...options });
}

/** Any value or `null`, as JSON, in a column that a later step adds. */
export function addedJson<T>(name: string, codec: Codec<T>, merge: Merge = "replace"): Field<T | null> {
  return jsonFieldOrNull(name, codec, { merge, isAdded: true });
}

export function reference(name: string, table: string): Field<number> {
  return field(name, `INTEGER NOT NULL REFERENCES ${table} (id)`, { ...number, merge: "keep" });
}

/** A number for each condition, in the order of `CONDITIONS`. */
export function counts(
  nameOf: (condition: Condition) => string,
  options: FieldOptions = {},
): Field<ConditionCounts> {
  const fields = CONDITIONS.map((condition) => integer(nameOf(condition), options));
  return {
    columns: fields.flatMap(({ columns }) => columns),
    encode: (value, into) => {
      for (const condition of CONDITIONS) into.push(value[condition]);
    },
    decode: (row) => {
      return eachCondition((condition) => number.decode(row[nameOf(condition)], nameOf(condition)));
    },
  };
}

const TWO_COUNTS = 2 ** 26;

/**
 * An even number of counts of runs, two in a column: half the columns to write. Sums of a column are the sums of both, as
 * long as these are below 2^26: a run each second for two years. A column that is `NULL` has zeros.
 */
export function addedPairs(names: readonly string[]): Field<readonly number[]> {
  return {
    columns: names.map((name) => ({ name, type: "INTEGER", merge: "tally", isAdded: true })),
    encode: (value, into) => {
      for (let index = 0; index < 2 * names.length; index += 2) {
        into.push(packPair(value[index] ?? 0, value[index + 1] ?? 0));
      }
    },
    decode: (row) => unpackPairs(names.map((name) => nullable(number).decode(row[name], name) ?? 0)),
  };
}

export function packPair(low: number, high: number): number {
  return low + high * TWO_COUNTS;
}

export function unpackPairs(pairs: readonly number[]): readonly number[] {
  return pairs.flatMap((pair) => [pair % TWO_COUNTS, Math.floor(pair / TWO_COUNTS)]);
}

export type Fields<T> = { readonly [K in keyof T]-?: Field<T[K]> };

/** The identity of a row; the database assigns an `id`, in the order of insertion, unless there is a primary key. */
interface Keys {
  /** The columns of the primary key. @default a column `id` */
  readonly primary?: readonly string[];
  /** Columns of which no two rows have the same values. @default the primary key */
  readonly unique?: readonly string[];
  /** Whether it has one row alone, with the `id` 1, which is no field. @default false */
  readonly hasOneRow?: boolean;
}

export interface Table<T> {
  readonly name: string;
  readonly declared: readonly Column[];
  /** The columns of the primary key; `null`: the database gives each row an `id`. */
  readonly primary: readonly string[] | null;
  /** The columns of which no two rows have the same values; empty if there are none. */
  readonly unique: readonly string[];
  /** All columns but the `id`, for SELECT. */
  readonly columns: string;
  /** The columns behind the key, as aggregates of many rows: `sum(…)`, `max(…)`, or `NULL` for what can't be added up. */
  readonly aggregates: string;
  /** Inserts a row; its parameters are those that `encode` returns. */
  readonly insert: string;
  /** The conflict clause of `insert` for a row with the same unique columns: merges into that one. */
  readonly onConflict: string;
  readonly upsert: string;
  /** The values of a row, in the order of `columns`. */
  encode(row: T): readonly StoredValue[];
  /** @throws {UnreadableRowError} If no monitor can have written it. */
  decode(row: Row): T;
}

export function table<T extends object>(
  name: string,
  fields: Fields<T>,
  { hasOneRow = false, primary = hasOneRow ? ["id"] : undefined, unique = primary ?? [] }: Keys = {},
): Table<T> {
  const entries = Object.entries<Field<unknown>>(fields as Record<string, Field<unknown>>);
  const columns = [
    ...hasOneRow ? integer("id").columns : [],
    ...entries.flatMap(([, { columns }]) => columns),
  ];
  const { insert, onConflict } = statementsOf({ name, declared: columns, unique });
  return {
    name,
    declared: columns,
    primary: primary ?? null,
    unique,
    columns: columns.map((column) => column.name).join(", "),
    aggregates: columns.filter((column) => !unique.includes(column.name)).map(aggregateOf).join(", "),
    insert,
    onConflict,
    upsert: `${insert} ${onConflict}`,
    encode: (row) => {
      const values = row as Readonly<Record<string, unknown>>;
      const encoded: StoredValue[] = hasOneRow ? [1] : [];
      for (const [key, field] of entries) field.encode(values[key], encoded);
      return encoded;
    },
    decode: (row) => Object.fromEntries(entries.map(([key, field]) => [key, field.decode(row)])) as T,
  };
}

function aggregateOf({ name, merge }: Column): string {
  if (merge === "max") return `max(${name})`;
  return merge === "add" || merge === "tally" ? `sum(${name})` : "NULL";
}

function statementsOf({ name, declared, unique }: Pick<Declared, "name" | "declared" | "unique">) {
  const names = declared.map((column) => column.name);
  const updates = declared.filter((column) => !unique.includes(column.name))
    .map((column) => `${column.name} = ${MERGED[column.merge](column.name, `excluded.${column.name}`)}`);
  return {
    insert: `INSERT INTO ${name} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    onConflict: `ON CONFLICT (${unique.join(", ")}) DO UPDATE SET ${updates.join(", ")}`,
  };
}

/** Returns an upsert of all columns but some that may be `NULL`; those of a row that is there stay as they are. */
export function upsertWithout({ name, declared, unique }: Declared, without: readonly string[]): string {
  const written = declared.filter((column) => !without.includes(column.name));
  const { insert, onConflict } = statementsOf({ name, declared: written, unique });
  return `${insert} ${onConflict}`;
}

export type Declared = Pick<Table<never>, "name" | "declared" | "primary" | "unique">;

/** Creates a table in SQLite; with `isWhole`, with the columns that later steps add. */
export function createTable({ name, declared, primary, unique }: Declared, isWhole = false): string {
  const columns = declared.filter(({ isAdded }) => isWhole || !isAdded)
    .map((column) => `${column.name} ${column.type}`);
  if (primary === null) {
    const constraints = unique.length === 0 ? [] : [`UNIQUE (${unique.join(", ")})`];
    return `CREATE TABLE ${name} (${["id INTEGER PRIMARY KEY", ...columns, ...constraints].join(", ")})`;
  }
  const parts = [...columns, `PRIMARY KEY (${primary.join(", ")})`];
  return `CREATE TABLE ${name} (${parts.join(", ")})${primary.length > 1 ? " WITHOUT ROWID" : ""}`;
}

export function addColumn(table: Declared, name: string): string {
  return `ALTER TABLE ${table.name} ADD COLUMN ${name} ${addedColumn(table, name).type}`;
}

/** Returns a column that a later step adds. */
export function addedColumn({ name, declared }: Declared, added: string): Column {
  const column = declared.find((one) => one.name === added && one.isAdded);
  if (column === undefined) throw new Error(`No step adds ${added} to ${name}`);
  return column;
}
