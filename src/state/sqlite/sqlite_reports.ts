/** Results that another monitor is to receive. */
import type { NewReport, ReportStore } from "../../domain/reports.ts";
import { number } from "../codec.ts";
import { ONLY_ROW, REPORTING, REPORTS } from "../sql/tables.ts";
import type { SqliteConnection } from "./sqlite_connection.ts";
import type { Access } from "./store_failure.ts";

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
