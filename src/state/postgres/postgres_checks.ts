/** Checks, their changes and roll-ups in PostgreSQL. */
import type { CheckUpdate, JournalBlock, Rollup } from "../../domain/store.ts";
import { SHARING_MAX } from "../../domain/membership.ts";
import { columnText } from "../codec.ts";
import { FRESH_BYTES_MAX, nameIn, packRuns, RECENT_BYTES_MAX, rollupsOf } from "../sql/rows.ts";
import { addCounts, addSums } from "../availability.ts";
import type { RecordBatch, VersionedRecord, VersionedRecords } from "../record_writer.ts";
import type { Declared, Row, Table } from "../sql/table_declaration.ts";
import { CHANGES, CHECKS, JOURNAL, OUTBOX, RECORDS, ROLLUPS } from "../sql/tables.ts";
import type { PostgresClient } from "./postgres_client.ts";
import { arrayText, type Parameter } from "../../shared/postgres/protocol.ts";
import { lastByKey } from "../sql/outbox_and_jobs.ts";
import { drive, newRows, onConflict, readAll, toArrays } from "./postgres_tables.ts";
import { joinBytes } from "../../shared/text.ts";

const VERSIONS = ["version", "replaces"] as const;
const CHECK_VALUES = [...namesOf(CHECKS), ...VERSIONS].join(", ");

const NAMED = [["name", "text"]] as const;

/** The first parameter of each of these. */
const FIRST = [
  CHECKS.declared.length + VERSIONS.length,
  ROLLUPS.declared.length,
  CHANGES.declared.length,
  1 + OUTBOX.declared.length,
  JOURNAL.declared.length,
].map((_, index, counts) => counts.slice(0, index).reduce((sum, count) => sum + count, 1));

/**
 * Saves a batch and returns the names whose record had the expected version. Everything else is inserted for those alone.
 * Fresh runs move to their own table as in SQLite: the inner query reads them as they were before this statement.
 */
const SAVE = `WITH saved AS (
    INSERT INTO checks (${CHECK_VALUES})
    SELECT ${CHECK_VALUES} FROM ${newRows(CHECKS, { before: VERSIONS.map((name) => [name, "bigint"]) })}
    ORDER BY place
    ${
  onConflict(CHECKS, {
    fresh_runs:
      `excluded.fresh_runs || CASE WHEN length(checks.fresh_runs) < ${FRESH_BYTES_MAX} THEN checks.fresh_runs ELSE '' END`,
    version: "excluded.version",
    replaces: "excluded.replaces",
  })
}
    WHERE checks.version = excluded.replaces
    RETURNING id, name),
  moved AS (
    INSERT INTO recent_runs (check_id, runs)
    SELECT id, runs FROM (SELECT id, (SELECT fresh_runs FROM checks WHERE checks.id = saved.id) AS runs FROM saved) AS old
    WHERE length(runs) >= ${FRESH_BYTES_MAX}
    ON CONFLICT (check_id) DO UPDATE SET runs = substr(excluded.runs || recent_runs.runs, 1, ${RECENT_BYTES_MAX})),
  added AS (${insertOfSaved(ROLLUPS, FIRST[1])} ${onConflict(ROLLUPS)}),
  changed AS (${insertOfSaved(CHANGES, FIRST[2])}),
  moved_journal AS (${insertOfSaved(JOURNAL, FIRST[4])} ${onConflict(JOURNAL)}),
  queued AS (
    INSERT INTO outbox (${OUTBOX.columns})
    SELECT ${prefixed(namesOf(OUTBOX))} FROM ${newRows(OUTBOX, { first: FIRST[3] ?? 0, before: NAMED })}
    JOIN saved ON saved.name = new.name ORDER BY place ${onConflict(OUTBOX)})
  SELECT name FROM saved`;

/** Inserts rows of the saved checks, which have the name of their check in the place of its id. */
function insertOfSaved(table: Declared, first = 0): string {
  const columns = namesOf(table).slice(1);
  return `INSERT INTO ${table.name} (check_id, ${columns.join(", ")}) SELECT saved.id, ${prefixed(columns)}
    FROM ${newRows(table, { first, without: ["check_id"], before: NAMED })}
    JOIN saved ON saved.name = new.name ORDER BY place`;
}

function namesOf({ declared }: Declared): readonly string[] {
  return declared.map(({ name }) => name);
}

function prefixed(columns: readonly string[]): string {
  return columns.map((column) => `new.${column}`).join(", ");
}

const VERSIONED = `${RECORDS.columns}, version`;
const SELECT_SOME_RECORDS = `SELECT ${VERSIONED} FROM checks WHERE name = ANY($1::text[])`;

/**
 * The words are of JSON: in an output they would be escaped. Outputs are cut off once a row, not searched for each word;
 * without `OFFSET 0` the server would join both queries.
 */
const SELECT_SHARING = `SELECT ${VERSIONED} FROM (
    SELECT *, substr(last, strpos(last, '"attributes":')) AS shared FROM checks OFFSET 0
  ) AS cut
  WHERE EXISTS (SELECT FROM unnest($1::text[]) AS word WHERE strpos(shared, word) > 0)
  ORDER BY strpos(shared, '"suspected":[]') > 0, next_run_at_ms DESC NULLS LAST, name LIMIT ${SHARING_MAX}`;

/** The records in PostgreSQL, for the writer of a process. */
export function createPostgresRecords(client: PostgresClient): VersionedRecords {
  const encoded = new WeakMap<RecordBatch, readonly Parameter[]>();
  const versioned = (rows: readonly Row[]): readonly VersionedRecord[] =>
    rows.map((row) => ({ record: RECORDS.decode(row), version: Number(row["version"]) }));
  return {
    all: async () =>
      versioned(
        await client.work((session) => drive(session, readAll({ table: "checks", columns: VERSIONED }))),
      ),
    some: async (names) => {
      const parameter = arrayText([...new Set(names)].map(columnText.encode));
      return versioned((await client.query(SELECT_SOME_RECORDS, [parameter])).rows);
    },
    sharing: async (attributes) => {
      const words = attributes.map((attribute) => JSON.stringify(attribute));
      return versioned((await client.query(SELECT_SHARING, [arrayText(words)])).rows);
    },
    save: async (batch) => {
      const parameters = encoded.getOrInsertComputed(batch, toParameters);
      return new Set((await client.query(SAVE, parameters)).rows.map(nameIn));
    },
  };
}

function toParameters({ updates, versions }: RecordBatch): readonly Parameter[] {
  const byName = Map.groupBy(updates, ({ record }) => record.name);
  const checks = [...versions].flatMap(([name, { version, replaces }]) => {
    const own = byName.get(name) ?? [];
    const runs = packRuns(own.map(({ rollup }) => rollup));
    const freshRuns = runs.subarray(0, RECENT_BYTES_MAX);
    return own.slice(-1).map(({ record }) => [version, replaces, ...CHECKS.encode({ ...record, freshRuns })]);
  });
  const rollups = [...byName].flatMap(([name, own]) =>
    mergedRollups(own).map((rollup) => ofCheck(ROLLUPS, name, { ...rollup, checkId: 0 }))
  );
  const changes = updates.flatMap(({ change, record: { name } }) =>
    change === null ? [] : [ofCheck(CHANGES, name, { ...change, checkId: 0 })]
  );
  const journal = [...byName].flatMap(([name, own]) =>
    mergedBlocks(own).map((block) => ofCheck(JOURNAL, name, { ...block, checkId: 0 }))
  );
  const queued = lastByKey(
    updates.flatMap(({ queued, record: { name } }) => queued.map((row) => ({ name, row }))),
    ({ row }) => row.id,
  ).map(({ name, row }) => [columnText.encode(name), ...OUTBOX.encode(row)]);
  return [
    ...toArrays(checks, VERSIONS.length + CHECKS.declared.length),
    ...toArrays(rollups, ROLLUPS.declared.length),
    ...toArrays(changes, CHANGES.declared.length),
    ...toArrays(queued, 1 + OUTBOX.declared.length),
    ...toArrays(journal, JOURNAL.declared.length),
  ];
}

/** The values of a row with the name of its check in the place of the id. */
function ofCheck<T>(table: Table<T>, name: string, row: T) {
  return table.encode(row).with(0, columnText.encode(name));
}

/** One roll-up for each span: a statement can't merge into a row twice. */
function mergedRollups(updates: readonly CheckUpdate[]): readonly Omit<Rollup, "name">[] {
  const added = updates.flatMap(({ rollup }) => rollup === null ? [] : rollupsOf(rollup));
  return [...Map.groupBy(added, ({ startMs, spanMs }) => `${startMs} ${spanMs}`).values()].map((same) =>
    same.reduce((before, one) => ({
      ...addSums(before, one),
      observed: addCounts(before.observed, one.observed),
      metrics: one.metrics ?? before.metrics,
    }))
  );
}

/** One block for each time: those of one time are joined as in SQLite. */
function mergedBlocks(updates: readonly CheckUpdate[]): readonly JournalBlock[] {
  const byTime = Map.groupBy(updates.flatMap(({ journal }) => journal ?? []), ({ lastMs }) => lastMs);
  return [...byTime].map(([lastMs, blocks]) => ({
    lastMs,
    rows: joinBytes(blocks.toReversed().map(({ rows }) => rows)),
  }));
}
