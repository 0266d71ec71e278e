/** The part of the store in a database that says who runs the checks: each function answers at once, or throws. */
import type { MonitorRun } from "../domain/monitor_run.ts";
import type { Connection } from "./connection.ts";
import { copyMonitorRun } from "./copies.ts";
import { membersOf, numberIn, numberOrNullIn, textIn, textOrNullIn, textsIn, wordIn } from "./members.ts";

const SELECT_RUN = "SELECT text FROM monitor WHERE id = 1";
const REPLACE_RUN = "INSERT OR REPLACE INTO monitor (id, text) VALUES (1, ?)";

/** What `monitorRun()` of the store answers. */
export function readMonitorRun(connection: Connection): MonitorRun | null {
  const row = connection.first(SELECT_RUN);
  if (row === undefined) return null;
  const members = membersOf(textIn(row, "text"));
  return {
    mode: wordIn(members, "mode", ["service", "cron"]),
    processId: numberOrNullIn(members, "processId"),
    startedAtMs: numberIn(members, "startedAtMs"),
    stoppedAtMs: numberOrNullIn(members, "stoppedAtMs"),
    configPath: textOrNullIn(members, "configPath"),
    configHash: textIn(members, "configHash"),
    configLoadedAtMs: numberIn(members, "configLoadedAtMs"),
    checks: textsIn(members, "checks"),
  };
}

/** What `keepMonitorRun()` of the store does. */
export function keepMonitorRun(connection: Connection, run: MonitorRun): void {
  connection.run(REPLACE_RUN, JSON.stringify(copyMonitorRun(run)));
}
