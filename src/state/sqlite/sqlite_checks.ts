/** Checks, their changes and roll-ups in the database. Names in the statements are encoded as column text. */
import type { CheckStore, CheckUpdate } from "../../domain/store.ts";
import { number } from "../codec.ts";
import type { Access, SqliteConnection } from "./sqlite_connection.ts";
import { CHANGES_MAX, JOURNAL_BLOCKS_MAX, type RetentionLimits } from "../retention.ts";
import { createCheckReads, FRESH_BYTES_MAX, packRuns, RECENT_BYTES_MAX, rollupsOf } from "../sql/rows.ts";
import { packPair, upsertWithout } from "../sql/table_declaration.ts";
import {
  CHANGES,
  CHECK_TABLES,
  CHECKS,
  DURATION_COLUMNS,
  JOURNAL,
  OUTBOX,
  RECORDS,
  REPORTING,
  REPORTS,
  ROLLUP_TIMES,
  ROLLUPS,
  type StoredRollup,
} from "../sql/tables.ts";
import type { NewReport, ReportStore } from "../../domain/reports.ts";
import { DAY_MS, HOUR_MS } from "../../shared/time_units.ts";

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
    if (change !== null) connection.run(CHANGES.insert, ...CHANGES.encode({ ...change, checkId }));
    if (journal !== undefined) connection.run(JOURNAL.upsert, ...JOURNAL.encode({ ...journal, checkId }));
    for (const notification of queued) connection.run(OUTBOX.upsert, ...OUTBOX.encode(notification));
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
  const freshRuns = packRuns(updates.map(({ rollup }) => rollup));
  const kept = updates.at(-1);
  if (kept === undefined) throw new TypeError("no update of a check");
  const row = connection.first(UPSERT_CHECK, ...CHECKS.encode({ ...kept.record, freshRuns }));
  const id = Number(row?.["id"]);
  if (Number(row?.["fresh_bytes"]) >= FRESH_BYTES_MAX) {
    for (const statement of MOVE_FRESH_RUNS) connection.run(statement, id);
  }
  return id;
}

export function createCheckStore(connection: SqliteConnection, access: Access): CheckStore {
  const { read, write } = access;
  return {
    ...createCheckReads(access),
    records: () => read(() => connection.all(SELECT_RECORDS).map(RECORDS.decode)),
    save: (updates) =>
      write(() => {
        // One process owns the file, so no other has written a record meanwhile.
        if (updates.length === 0) return [];
        connection.transaction(() => keepUpdates(connection, updates));
        return [];
      }),
  };
}

// Results that another monitor is to receive.

/** A clock that is wrong by more reaches no greater sequence. */
const SEQUENCE_MAX = 2 ** 52;

/**
 * Stores a report, as part of the open transaction. Its sequence is its time in microseconds, if that is greater than the
 * last one: so a state that is restored from a backup does not use a sequence again.
 */
function keepReport(connection: SqliteConnection, report: NewReport): void {
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
        return row === undefined ? null : REPORTING.decode(row);
      }),
    keepReporting: (reporting) =>
      write(() =>
        connection.transaction(() => {
          connection.run(REPORTING.upsert, ...REPORTING.encode(reporting));
          connection.run("DELETE FROM reports WHERE sequence <= ?", reporting.received);
        })
      ),
    dropReports: (countMax) => write(() => connection.run(DELETE_SURPLUS, countMax)),
  };
}

/** All records, in the order in which the checks were first persisted. */
const SELECT_RECORDS = `SELECT ${RECORDS.columns} FROM checks ORDER BY id`;

/** Upserts a check, its packed run joined to the fresh ones in place, and returns its id and how many bytes these take. */
const UPSERT_CHECK = `${CHECKS.upsert} RETURNING id, length(fresh_runs) AS fresh_bytes`;

/** Puts the fresh runs of a check before its others, so that its record stays small. */
const MOVE_FRESH_RUNS: readonly string[] = [
  `INSERT INTO recent_runs (check_id, runs) SELECT id, fresh_runs FROM checks WHERE id = ?
    ON CONFLICT (check_id) DO UPDATE SET
      runs = substr(CAST(excluded.runs || runs AS BLOB), 1, ${RECENT_BYTES_MAX})`,
  "UPDATE checks SET fresh_runs = x'' WHERE id = ?",
];

/** The start of the day in UTC that `start_ms` is in. */
export const START_OF_DAY = `start_ms - (start_ms % ${DAY_MS} + ${DAY_MS}) % ${DAY_MS}`;

/** Deletes what is too old of a check, and returns how many rows changed. */
export function pruneCheck(connection: SqliteConnection, id: number, limits: RetentionLimits): number {
  return connection.run(DELETE_OLD_CHANGES, id, limits.changeMs) +
    connection.run(DELETE_SURPLUS_CHANGES, id, CHANGES_MAX) +
    connection.run(DELETE_OLD_JOURNAL, id, limits.journalMs) +
    connection.run(DELETE_SURPLUS_JOURNAL, id, JOURNAL_BLOCKS_MAX) +
    connection.run(DELETE_OLD_ROLLUPS, id, limits.rollupEndMs) +
    connection.run(ADD_HOURS_TO_DAYS, id, limits.dailyMs) +
    connection.run(DELETE_ADDED_HOURS, id, limits.dailyMs);
}

/** Deletes a check and all its data, and returns how many rows that were. */
export function deleteCheck(connection: SqliteConnection, id: number): number {
  return [...CHECK_TABLES.map((table) => `DELETE FROM ${table} WHERE check_id = ?`), DELETE_CHECK]
    .reduce((sum, statement) => sum + connection.run(statement, id), 0);
}

/** Adds a check's hourly roll-ups that began before a time to those of their days. */
const ADD_HOURS_TO_DAYS = `INSERT INTO rollups (${ROLLUPS.columns})
  SELECT check_id, ${START_OF_DAY} AS day_ms, ${DAY_MS}, ${ROLLUPS.aggregates}
  FROM rollups WHERE check_id = ? AND start_ms < ? AND span_ms = ${HOUR_MS} GROUP BY day_ms ${ROLLUPS.onConflict}`;

const DELETE_ADDED_HOURS = `DELETE FROM rollups WHERE check_id = ? AND start_ms < ? AND span_ms = ${HOUR_MS}`;

const DELETE_OLD_ROLLUPS = "DELETE FROM rollups WHERE check_id = ? AND start_ms + span_ms < ?";

const DELETE_OLD_CHANGES = "DELETE FROM changes WHERE check_id = ? AND at_ms < ?";

const DELETE_SURPLUS_CHANGES = `DELETE FROM changes WHERE id IN (
    SELECT id FROM changes WHERE check_id = ? ORDER BY at_ms DESC, id DESC LIMIT -1 OFFSET ?)`;

const DELETE_OLD_JOURNAL = "DELETE FROM journal WHERE check_id = ? AND last_ms < ?";

/** Forgets the blocks of a check's journal beyond so many of the newest. */
const DELETE_SURPLUS_JOURNAL = `DELETE FROM journal WHERE check_id = ?1 AND last_ms <=
  (SELECT last_ms FROM journal WHERE check_id = ?1 ORDER BY last_ms DESC LIMIT 1 OFFSET ?2)`;

const DELETE_CHECK = "DELETE FROM checks WHERE id = ?";

/** The checks behind an id, so many at most: their ids, their names and when they were seen. */
export const SELECT_CHECKS_BEHIND =
  "SELECT id, name, seen_at_ms FROM checks WHERE id > ? ORDER BY id LIMIT ?";
