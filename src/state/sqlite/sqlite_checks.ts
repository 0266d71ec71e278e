/** Checks, their changes and roll-ups in the database. */
import type { CheckStore, CheckUpdate } from "../../domain/store.ts";
import { columnText, number } from "../codec.ts";
import type { SqliteConnection } from "./sqlite_connection.ts";
import type { Access } from "./store_failure.ts";
import { joinBytes } from "../../shared/join_bytes.ts";
import { keepQueued } from "./sqlite_outbox.ts";
import { cutChange } from "../retention.ts";
import {
  changeIn,
  FRESH_BYTES_MAX,
  journalsOf,
  metricHourIn,
  nameIn,
  packRun,
  rollupIn,
  rollupsOf,
  sumsOf,
  toRowLimit,
  unpackRuns,
} from "../sql/rows.ts";
import { selectLatestChanges } from "../sql/shared_statements.ts";
import {
  MOVE_FRESH_RUNS,
  SELECT_CHANGES,
  SELECT_JOURNAL,
  SELECT_METRICS,
  SELECT_RECENT,
  SELECT_RECORDS,
  SELECT_ROLLUPS,
  SELECT_SUMS,
  UPSERT_CHECK,
} from "./statements.ts";
import { packPair, upsertWithout } from "../sql/table_declaration.ts";
import {
  CHANGES,
  CHECKS,
  DURATION_COLUMNS,
  JOURNAL,
  ONLY_ROW,
  RECORDS,
  REPORTING,
  REPORTS,
  ROLLUP_TIMES,
  ROLLUPS,
  type StoredRollup,
} from "../sql/tables.ts";
import type { NewReport, ReportStore } from "../../domain/reports.ts";

/** Persists updates, as part of the open transaction: the last record of a check, and everything else of each. */
export function keepUpdates(connection: SqliteConnection, updates: readonly CheckUpdate[]): void {
  const ids = new Map<string, number>();
  for (const [name, ofCheck] of Map.groupBy(updates, ({ record }) => record.name)) {
    ids.set(name, keepRecord(connection, ofCheck));
  }
  for (const { record, rollup, change, queued, journal, report } of updates) {
    const checkId = ids.get(record.name) ?? NaN;
    for (const one of rollup === null ? [] : rollupsOf(rollup)) {
      keepRollup(connection, { ...one, checkId });
    }
    if (change !== null) connection.run(CHANGES.insert, ...CHANGES.encode({ ...cutChange(change), checkId }));
    if (journal !== undefined) connection.run(JOURNAL.upsert, ...JOURNAL.encode({ ...journal, checkId }));
    for (const notification of queued) keepQueued(connection, notification);
    if (report !== undefined) keepReport(connection, report);
  }
}

/** The upserts of a roll-up with one column of durations each: one run is in no other. */
const UPSERTS = DURATION_COLUMNS.map((own) =>
  upsertWithout(ROLLUPS, DURATION_COLUMNS.filter((column) => column !== own))
);

/** Adds the roll-up of one run at most. */
function keepRollup(connection: SqliteConnection, rollup: StoredRollup): void {
  const pair = Math.max(0, rollup.durations.findIndex((runs) => runs > 0)) >> 1;
  const [low = 0, high = 0] = rollup.durations.slice(2 * pair, 2 * pair + 2);
  connection.run(UPSERTS[pair] ?? ROLLUPS.upsert, ...ROLLUP_TIMES.encode(rollup), packPair(low, high));
}

/** Persists the record after the last update of a check, and the runs of all; returns the id of the check. */
function keepRecord(connection: SqliteConnection, updates: readonly CheckUpdate[]): number {
  const freshRuns = joinBytes(updates.map(({ rollup }) => packRun(rollup)).reverse());
  const kept = updates.at(-1);
  if (kept === undefined) throw new TypeError("no update of a check");
  const row = connection.first(UPSERT_CHECK, ...CHECKS.encode({ ...kept.record, freshRuns }));
  const id = Number(row?.["id"]);
  if (Number(row?.["fresh_bytes"]) >= FRESH_BYTES_MAX) {
    for (const statement of MOVE_FRESH_RUNS) connection.run(statement, id);
  }
  return id;
}

const SELECT_LATEST_CHANGES = selectLatestChanges("SELECT value FROM json_each(?)", "?");

export function createCheckStore(connection: SqliteConnection, { read, write }: Access): CheckStore {
  return {
    records: () => read(() => connection.all(SELECT_RECORDS).map(RECORDS.decode)),
    save: (updates) =>
      write(() => {
        // One process owns the file, so no other has written a record meanwhile.
        if (updates.length === 0) return [];
        connection.transaction(() => keepUpdates(connection, updates));
        return [];
      }),
    changes: (name, { sinceMs, limit, from = { atMs: Infinity, skip: 0 } }) =>
      read(() => {
        const values = [columnText.encode(name), sinceMs, from.atMs, toRowLimit(limit), from.skip];
        return connection.all(SELECT_CHANGES, ...values).map((row) => changeIn(row, name));
      }),
    latestChanges: (names, limit) =>
      read(() =>
        connection.all(SELECT_LATEST_CHANGES, toNames(names), toRowLimit(limit)).map((row) => changeIn(row))
      ),
    rollups: (name, sinceMs) =>
      read(() =>
        connection.all(SELECT_ROLLUPS, columnText.encode(name), sinceMs).map((row) => rollupIn(row, name))
      ),
    rollupSums: (names, { sinceMs, untilMs, each }) =>
      read(() => connection.all(SELECT_SUMS[each], toNames(names), sinceMs, untilMs).flatMap(sumsOf)),
    metricHours: (names, { sinceMs, untilMs }) =>
      read(() => connection.all(SELECT_METRICS, toNames(names), sinceMs, untilMs).map(metricHourIn)),
    recentRuns: (names) =>
      read(() =>
        connection.all(SELECT_RECENT, toNames(names))
          .map((row) => ({ name: nameIn(row), runs: unpackRuns(row["recent"]) }))
      ),
    journal: (names, span) =>
      read(() => journalsOf(connection.all(SELECT_JOURNAL, toNames(names), span.sinceMs), span)),
  };
}

/** A JSON list of names, each once. */
function toNames(names: readonly string[]): string {
  return JSON.stringify([...new Set(names)].map(columnText.encode));
}

// Results that another monitor is to receive.

/** A clock that is wrong by more reaches no greater sequence. */
const SEQUENCE_MAX = 2 ** 52;

/**
 * Stores a report, as part of the open transaction. Its sequence is its time in microseconds, if that is greater than the
 * last one: so a state that is restored from a backup does not use a sequence again.
 */
export function keepReport(connection: SqliteConnection, report: NewReport): void {
  const sequence = Math.min(Math.max(0, Math.floor(report.endedAtMs * 1000)), SEQUENCE_MAX);
  connection.run(INSERT_REPORT, ...REPORTS.encode({ ...report, sequence }));
}

/** The sequence is the first value. */
const INSERT_REPORT = `INSERT INTO reports (${REPORTS.columns}) VALUES (
  max(?, 1 + coalesce((SELECT max(sequence) FROM reports), (SELECT received FROM reporting), 0)), ${
  REPORTS.declared.slice(1).map(() => "?").join(", ")
})`;

const SELECT_REPORTS = `SELECT ${REPORTS.columns} FROM reports ORDER BY sequence LIMIT ?`;

/** They are deleted from the oldest on, so that nothing is missing between the first and the last one. */
const SELECT_WAITING = "SELECT coalesce(max(id) - min(id) + 1, 0) AS waiting FROM reports";

const DELETE_SURPLUS = "DELETE FROM reports WHERE id <= (SELECT max(id) FROM reports) - ?";

export function createReportStore(connection: SqliteConnection, { read, write }: Access): ReportStore {
  return {
    reports: (limit) =>
      read(() =>
        connection.transaction(() => ({
          reports: connection.all(SELECT_REPORTS, limit).map(REPORTS.decode),
          waiting: number.decode(connection.first(SELECT_WAITING)?.["waiting"], "waiting"),
        }), "DEFERRED")
      ),
    reporting: () =>
      read(() => {
        const row = connection.first(`SELECT ${REPORTING.columns} FROM reporting`);
        if (row === undefined) return null;
        const { id: _, ...reporting } = REPORTING.decode(row);
        return reporting;
      }),
    keepReporting: (reporting) =>
      write(() =>
        connection.transaction(() => {
          connection.run(REPORTING.upsert, ...REPORTING.encode({ ...reporting, id: ONLY_ROW }));
          connection.run("DELETE FROM reports WHERE sequence <= ?", reporting.received);
        })
      ),
    dropReports: (countMax) => write(() => connection.run(DELETE_SURPLUS, countMax)),
  };
}
