/** The process that runs the checks, in the database. */
import type { MonitorRun } from "../../domain/monitor_run.ts";
import type { SqliteConnection } from "./sqlite_connection.ts";
import { MONITOR, ONLY_ROW } from "../sql/tables.ts";

/** Implements `monitorRun()` of the store. */
export function readMonitorRun(connection: SqliteConnection): MonitorRun | null {
  const row = connection.first(`SELECT ${MONITOR.columns} FROM monitor`);
  return row === undefined ? null : MONITOR.decode(row).run;
}

/** Implements `keepMonitorRun()` of the store. */
export function keepMonitorRun(connection: SqliteConnection, run: MonitorRun): void {
  connection.run(MONITOR.upsert, ...MONITOR.encode({ id: ONLY_ROW, run }));
}
