/** Checks, their changes and roll-ups in PostgreSQL. */
import type { CheckStore, CheckUpdate, JournalBlock, Rollup, SumSpan } from "../../domain/store.ts";
import { SHARING_MAX } from "../../domain/membership.ts";
import { columnText } from "../codec.ts";
import {
  createCheckReads,
  type Dialect,
  FRESH_BYTES_MAX,
  nameIn,
  packRun,
  RECENT_BYTES_MAX,
  rollupsOf,
  SUMMED_NAMES,
  SUMS,
} from "../sql/rows.ts";
import { addCounts, addSums } from "../availability.ts";
import { DAY_MS, HOUR_MS } from "../../shared/time_units.ts";
import type { RecordBatch, VersionedRecord, VersionedRecords } from "../record_writer.ts";
import { cutChange } from "../retention.ts";
import type { Table } from "../sql/table_declaration.ts";
import { CHANGES, CHECKS, JOURNAL, OUTBOX, RECORDS, ROLLUPS } from "../sql/tables.ts";
import type { PostgresClient } from "./postgres_client.ts";
import { arrayText, type Parameter, type StatementResult } from "../../shared/postgres/protocol.ts";
import { lastByKey, newRows, onConflict, readAll, toArrays } from "./postgres_tables.ts";
import { joinBytes } from "../../shared/text.ts";

const VERSIONS = ["version", "replaces"] as const;
const CHECK_VALUES = [...namesOf(CHECKS), ...VERSIONS].join(", ");

const WITHOUT_CHECK = ["check_id"];
const NAMED = [["name", "text"]] as const;
const ROLLUP_VALUES = namesOf(ROLLUPS).slice(1);
const CHANGE_VALUES = namesOf(CHANGES).slice(1);
const JOURNAL_VALUES = namesOf(JOURNAL).slice(1);

const FIRST = firstParameters([
  CHECKS.declared.length + VERSIONS.length,
  ROLLUPS.declared.length,
  CHANGES.declared.length,
  1 + OUTBOX.declared.length,
  JOURNAL.declared.length,
]);

function firstParameters(counts: readonly number[]): readonly number[] {
  return counts.map((_, index) => counts.slice(0, index).reduce((sum, count) => sum + count, 1));
}

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
  added AS (
    INSERT INTO rollups (check_id, ${ROLLUP_VALUES.join(", ")})
    SELECT saved.id, ${prefixed(ROLLUP_VALUES)}
    FROM ${newRows(ROLLUPS, { first: FIRST[1] ?? 0, without: WITHOUT_CHECK, before: NAMED })}
    JOIN saved ON saved.name = new.name ORDER BY place ${onConflict(ROLLUPS)}),
  changed AS (
    INSERT INTO changes (check_id, ${CHANGE_VALUES.join(", ")})
    SELECT saved.id, ${prefixed(CHANGE_VALUES)}
    FROM ${newRows(CHANGES, { first: FIRST[2] ?? 0, without: WITHOUT_CHECK, before: NAMED })}
    JOIN saved ON saved.name = new.name ORDER BY place),
  moved_journal AS (
    INSERT INTO journal (check_id, ${JOURNAL_VALUES.join(", ")})
    SELECT saved.id, ${prefixed(JOURNAL_VALUES)}
    FROM ${newRows(JOURNAL, { first: FIRST[4] ?? 0, without: WITHOUT_CHECK, before: NAMED })}
    JOIN saved ON saved.name = new.name ORDER BY place ${onConflict(JOURNAL)}),
  queued AS (
    INSERT INTO outbox (${OUTBOX.columns})
    SELECT ${prefixed(namesOf(OUTBOX))} FROM ${newRows(OUTBOX, { first: FIRST[3] ?? 0, before: NAMED })}
    JOIN saved ON saved.name = new.name ORDER BY place ${onConflict(OUTBOX)})
  SELECT name FROM saved`;

function namesOf({ declared }: Pick<Table<never>, "declared">): readonly string[] {
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
  const versioned = (rows: StatementResult["rows"]): readonly VersionedRecord[] =>
    rows.map((row) => ({ record: RECORDS.decode(row), version: Number(row["version"]) }));
  return {
    all: async () =>
      versioned(await readAll((...query) => client.query(...query), { table: "checks", columns: VERSIONED })),
    some: async (names) => versioned((await client.query(SELECT_SOME_RECORDS, [toNames(names)])).rows),
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
  const checks = [...versions].map(([name, { version, replaces }]) => {
    const own = byName.get(name) ?? [];
    const runs = joinBytes(own.toReversed().map(({ rollup }) => packRun(rollup)));
    const record = own.at(-1)?.record ?? unreachable();
    const check = { ...record, freshRuns: runs.subarray(0, RECENT_BYTES_MAX) };
    return [version, replaces, ...CHECKS.encode(check)];
  });
  const rollups = [...byName].flatMap(([name, own]) =>
    mergedRollups(own).map((rollup) => ofCheck(ROLLUPS, name, { ...rollup, checkId: 0 }))
  );
  const changes = updates.flatMap(({ change, record: { name } }) =>
    change === null ? [] : [ofCheck(CHANGES, name, { ...cutChange(change), checkId: 0 })]
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

function unreachable(): never {
  throw new Error("A group has a member");
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

const START: Readonly<Record<SumSpan, string>> = {
  hour: "start_ms",
  day: `floor(start_ms / ${DAY_MS}) * ${DAY_MS}`,
  check: "min(start_ms)",
};

function selectSums(each: SumSpan): string {
  return `SELECT name, json_agg(json_build_array(start_ms, ${SUMMED_NAMES}))::text AS sums
    FROM (SELECT checks.name AS name, ${START[each]} AS start_ms, ${SUMS}
      FROM checks JOIN rollups ON rollups.check_id = checks.id
      WHERE checks.name = ANY($1::text[]) AND start_ms > $2::float8 - ${DAY_MS} AND start_ms + span_ms > $2 AND start_ms <= $3
        AND span_ms IN (${each === "hour" ? "" : `${DAY_MS}, `}${HOUR_MS})
      GROUP BY checks.name${each === "check" ? "" : `, ${START[each]}`}) AS sums
    GROUP BY name`;
}

const SELECT_METRICS = `SELECT checks.name AS name, start_ms, metrics
  FROM checks JOIN rollups ON rollups.check_id = checks.id
  WHERE checks.name = ANY($1::text[]) AND span_ms = ${HOUR_MS} AND start_ms > $2::float8 - ${HOUR_MS} AND start_ms <= $3
    AND metrics IS NOT NULL`;

const SELECT_RECENT = `SELECT name, substr(fresh_runs || coalesce(runs, ''), 1, ${RECENT_BYTES_MAX}) AS recent
  FROM checks LEFT JOIN recent_runs ON recent_runs.check_id = checks.id
  WHERE name = ANY($1::text[]) AND (fresh_runs <> '' OR runs IS NOT NULL)`;

/** The blocks from a time on, in order, each with the record; without any, only that. */
const SELECT_JOURNAL = `SELECT name, results, checks.journal AS record
  FROM checks LEFT JOIN journal ON journal.check_id = checks.id AND last_ms >= $2
  WHERE name = ANY($1::text[]) AND checks.journal IS NOT NULL ORDER BY checks.id, last_ms`;

/** The writer of a process does the rest. */
export function createPostgresReads(dialect: Dialect): Omit<CheckStore, "records" | "save"> {
  return createCheckReads(dialect, {
    sums: { hour: selectSums("hour"), day: selectSums("day"), check: selectSums("check") },
    metrics: SELECT_METRICS,
    recent: SELECT_RECENT,
    journal: SELECT_JOURNAL,
  });
}

function toNames(names: readonly string[]): string {
  return arrayText([...new Set(names)].map(columnText.encode));
}
