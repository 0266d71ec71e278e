/** The tables of `tables.ts` in PostgreSQL. Their rows are written in batches, as arrays that become rows. */
import {
  addedColumn,
  type Column,
  type Declared,
  field,
  integer,
  jsonField,
  MERGED,
  type Row,
  string,
  stringOrNull,
  type Table,
  table,
} from "../sql/table_declaration.ts";
import {
  CREATE_INDEXES,
  FIRST_TABLES,
  laterSteps,
  type Migration,
  newerVersion,
  REPORTED_RUN,
  RESULT,
  unreadableState,
} from "../sql/tables.ts";
import {
  itemText,
  type Parameter,
  PostgresError,
  ProtocolError,
  type StatementResult,
} from "../../shared/postgres/protocol.ts";
import type { Statement, Work } from "../sql/rows.ts";
import type { EarlyLook, LocationResult, MemberHeartbeat, QueueRow } from "../../domain/membership.ts";
import type { ReportBatch, ReportedResult } from "../../domain/reports.ts";
import { type Codec, json, list, number, object, text, word } from "../codec.ts";
import type { PostgresPlace } from "../../domain/stores.ts";
import { StoreError } from "../../domain/store.ts";
import type { PostgresClient, Session } from "./postgres_client.ts";

// The tables that only a shared state has.

const EARLY_LOOK: Codec<EarlyLook> = object({
  sequence: number,
  check: text,
  why: word<EarlyLook["why"]>(["failing", "changed", "requested", "needed"]),
});

export const EARLY_LOOKS: Codec<MemberHeartbeat["looks"], string> = json(list(EARLY_LOOK));

/** The processes that share the state, by host name. */
export const MEMBERS: Table<MemberHeartbeat> = table("members", {
  host: string("host"),
  id: string("process"),
  count: integer("heartbeats"),
  config: string("config"),
  active: string("active_config"),
  location: stringOrNull("location"),
  looks: field("early_looks", "TEXT NOT NULL", EARLY_LOOKS),
}, { primary: ["host"] });

/** The owner of each channel queue. The token is incremented each time that a member claims the queue. */
export const QUEUES: Table<QueueRow> = table("queues", {
  channelKey: string("channel_key"),
  owner: stringOrNull("owner"),
  token: integer("token"),
}, { primary: ["channel_key"] });

/** The last result of each check at each of its locations, and how many there were. */
export const LOCATION_RESULTS: Table<LocationResult & { readonly runs: number }> = table("location_results", {
  check: string("check_name"),
  location: string("location"),
  runs: integer("runs"),
  result: jsonField("result", RESULT),
  trace: string("trace"),
}, { primary: ["check_name", "location"] });

const REPORT_BATCH: Codec<ReportBatch> = object({
  version: { encode: (version) => version, decode: () => 1 },
  stream: text,
  process: text,
  waiting: number,
  dropped: number,
  results: list(object<ReportedResult>({ ...REPORTED_RUN, sequence: number, ageMs: number })),
});

/** What agents reported, until it is recorded; the last batch of each agent stays. */
export const RECEIVED: Table<{ readonly agent: string; readonly batch: ReportBatch }> = table("received", {
  agent: string("agent"),
  batch: jsonField("batch", REPORT_BATCH),
});

/** By the type in SQLite, which stores numbers with a fraction in INTEGER columns, too. */
const TYPES: Readonly<Record<string, string>> = {
  TEXT: "text",
  INTEGER: "float8",
  REAL: "float8",
  BLOB: "bytea",
};

const MERGED_HERE: typeof MERGED = {
  ...MERGED,
  max: (stored, added) => `greatest(${stored}, ${added})`,
  min: (stored, added) => `least(${stored}, ${added})`,
  prepend: (stored, added) => `${added} || ${stored}`,
};

const ID = "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY";

/** Columns that PostgreSQL has in addition: of each record the version, and the one that it replaces. */
const MORE_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  checks: ["version bigint NOT NULL", "replaces bigint NOT NULL"],
  members: ["beat_at timestamptz NOT NULL DEFAULT clock_timestamp()"],
  location_results: ["ended_at timestamptz NOT NULL"],
  received: ["received_at timestamptz NOT NULL DEFAULT clock_timestamp()"],
  // When the end of a run was last recorded.
  jobs: ["checked_in_at timestamptz"],
  // The token of the queue under which its owner received it, and in which of its calls.
  outbox: ["received_token float8", "received_call float8"],
};

/** Rows that each run changes get space for their next version on their page, so that no index changes (HOT). */
const FILL: Readonly<Record<string, number>> = {
  checks: 50,
  rollups: 50,
  outbox: 70,
  members: 10,
  queues: 10,
  location_results: 50,
};

/**
 * The steps from an empty schema to the present tables; `meta` has the number of those that were applied. A released
 * step never changes. A later one adds tables, or columns with a default: members of the version before keep running on
 * them until they are replaced.
 */
export const POSTGRES_MIGRATIONS: readonly Migration[] = [
  [
    "CREATE TABLE meta (schema_version integer NOT NULL)",
    ...[...FIRST_TABLES, MEMBERS, QUEUES, LOCATION_RESULTS].map(createTable),
    ...CREATE_INDEXES,
    "CREATE INDEX outbox_by_channel ON outbox (channel_key, id)",
    // Each heartbeat reads them.
    "CREATE INDEX delivery_markers_uncertain ON delivery_markers (check_name) WHERE certain = 0",
    "INSERT INTO meta (schema_version) VALUES (0)",
  ],
  ...laterSteps({ createTable, addColumn }).toSpliced(8, 0, [
    createTable(RECEIVED),
    "CREATE INDEX received_by_agent ON received (agent, id)",
  ]),
];

function addColumn(table: Declared, name: string): string {
  return `ALTER TABLE ${table.name} ADD COLUMN ${name} ${typeOf(addedColumn(table, name))}`;
}

function createTable({ name, declared, primary, unique }: Declared): string {
  const columns = declared.filter(({ isAdded }) => !isAdded).map((column) => {
    const isNullable = !column.type.includes("NOT NULL");
    return `${column.name} ${typeOf(column)}${isNullable ? "" : " NOT NULL"}`;
  });
  const keys = primary === null
    ? unique.length === 0 ? [] : [`UNIQUE (${unique.join(", ")})`]
    : [`PRIMARY KEY (${primary.join(", ")})`];
  const parts = [...primary === null ? [ID] : [], ...columns, ...MORE_COLUMNS[name] ?? [], ...keys];
  const fill = FILL[name];
  return `CREATE TABLE ${name} (${parts.join(", ")})${
    fill === undefined ? "" : ` WITH (fillfactor = ${fill})`
  }`;
}

function typeOf({ type }: Column): string {
  return type.includes("REFERENCES") ? "bigint" : TYPES[type.split(" ")[0] ?? ""] ?? "text";
}

/** Columns that come from elsewhere than an array. */
interface RowsOptions {
  /** The number of the first parameter. @default 1 */
  readonly first?: number;
  /** Columns of the table that no array has. */
  readonly without?: readonly string[];
  /** Arrays in front of those of the table: names and types. */
  readonly before?: readonly (readonly [name: string, type: string])[];
}

/** Rows named `new` from one array parameter a column, with their `place`. */
export function newRows(
  { declared }: Declared,
  { first = 1, without = [], before = [] }: RowsOptions = {},
): string {
  const columns = [
    ...before,
    ...declared.filter(({ name }) => !without.includes(name)).map((column) =>
      [column.name, typeOf(column)] as const
    ),
  ];
  const arrays = columns.map(([, type], index) => `$${first + index}::${type}[]`);
  const names = columns.map(([name]) => name);
  return `unnest(${arrays.join(", ")}) WITH ORDINALITY AS new (${names.join(", ")}, place)`;
}

/** Merges an inserted row into one with the same unique columns. `values` are those of some columns, by name. */
export function onConflict(
  { name, declared, unique }: Declared,
  values: Readonly<Record<string, string>> = {},
): string {
  const merged = declared.filter((column) => !unique.includes(column.name)).map((column) => [
    column.name,
    MERGED_HERE[column.merge](`${name}.${column.name}`, `excluded.${column.name}`),
  ]);
  const updates = Object.entries({ ...Object.fromEntries(merged), ...values })
    .map(([column, value]) => `${column} = ${value}`);
  return `ON CONFLICT (${unique.join(", ")}) DO UPDATE SET ${updates.join(", ")}`;
}

export function insertRows(table: Declared & { readonly columns: string }): string {
  return `INSERT INTO ${table.name} (${table.columns})
    SELECT ${table.columns} FROM ${newRows(table)} ORDER BY place`;
}

/** As in {@linkcode Dialect}. */
export function upserts<T>(table: Table<T>, rows: readonly T[], returning = ""): readonly Statement[] {
  if (rows.length === 0) return [];
  return [[`${insertRows(table)} ${onConflict(table)}${returning}`, encodeRows(table, rows)]];
}

export function additions<T>(table: Table<T>, rows: readonly T[], returning = ""): readonly Statement[] {
  if (rows.length === 0) return [];
  return [[`${insertRows(table)} ON CONFLICT DO NOTHING${returning}`, encodeRows(table, rows)]];
}

/** The parameters of rows, as values by row: one array a column. */
export function toArrays(rows: readonly (readonly unknown[])[], width: number): readonly string[] {
  return Array.from({ length: width }, (_, column) => `{${itemsOf(rows, column).join(",")}}`);
}

/** Most values are those of the row before, and numbers take long to become text. */
function itemsOf(rows: readonly (readonly unknown[])[], column: number): readonly string[] {
  let before: unknown;
  let text = "";
  return rows.map((row) => {
    const value = row[column];
    if (value !== before) text = itemText(value as Parameter);
    before = value;
    return text;
  });
}

export function encodeRows<T>(table: Table<T>, rows: readonly T[]): readonly string[] {
  return toArrays(rows.map((row) => table.encode(row)), table.declared.length);
}

/** How many rows are read at a time: a response has a limit. */
const ROWS_MAX = 1_000;

/** Reads all rows of a table that meet a condition, in the order of their ids, some at a time. */
export function* readAll(
  { table, columns, where = "true" }: Readonly<Record<"table" | "columns", string>> & {
    readonly where?: string;
  },
): Work<readonly Row[]> {
  const sql = `SELECT id, ${columns} FROM ${table} WHERE id > $1 AND ${where} ORDER BY id LIMIT ${ROWS_MAX}`;
  const all: Row[] = [];
  for (let lastId = 0;;) {
    const rows = yield [sql, [lastId]];
    all.push(...rows);
    if (rows.length < ROWS_MAX) return all;
    const nextId = Number(rows.at(-1)?.["id"]);
    if (!(nextId > lastId)) throw new ProtocolError("sends rows in another order");
    lastId = nextId;
  }
}

export async function drive<T>(session: Session, work: Work<T>): Promise<T> {
  let step = work.next();
  while (!step.done) step = work.next((await session.run(...step.value)).rows);
  return step.value;
}

export async function runEach(session: Session, statements: readonly Statement[]): Promise<void> {
  for (const statement of statements) await session.run(...statement);
}

// The schema of a state in PostgreSQL, and its version.

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
  if (access === "read") throw unreadableState(place.url, version);
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
