/** The part of the store in a database that jobs report to: each function answers at once, or throws. */
import type { EndedJobRun, JobEnd, JobFacts, JobRun } from "../domain/job_runs.ts";
import type { Connection } from "./connection.ts";
import { copyJobEnd } from "./copies.ts";
import {
  DELETE_SURPLUS_RUNS,
  INSERT_BEGUN_RUN,
  SELECT_JOB,
  SELECT_LAST_RUN,
  SELECT_RUNS_UNDER_WAY,
  UPSERT_ENDED_RUN,
  UPSERT_JOB,
} from "./job_statements.ts";
import {
  encodedTextIn,
  encodeText,
  type Members,
  membersOf,
  numberIn,
  numberOrNullIn,
  textIn,
  textOrNullIn,
  wordIn,
} from "./members.ts";
import { JOB_RUNS_MAX } from "./retention.ts";

/** What `job()` of the store answers. */
export function readJob(connection: Connection, name: string, nowMs: number): JobFacts {
  return connection.transaction(() => factsIn(connection, name, nowMs), "DEFERRED") ??
    connection.transaction(() => {
      noteJob(connection, name, nowMs);
      return factsIn(connection, name, nowMs);
    }) ?? { sinceMs: nowMs, last: null, underWay: [] };
}

/** What `keepJobRun()` of the store does. */
export function keepJobRun(
  connection: Connection,
  name: string,
  { run, nowMs }: { readonly run: JobRun; readonly nowMs: number },
): void {
  connection.transaction(() => {
    const id = noteJob(connection, name, nowMs);
    const values = [id, encodeText(run.id), run.startedAtMs];
    if (run.end === null) connection.run(INSERT_BEGUN_RUN, ...values);
    else connection.run(UPSERT_ENDED_RUN, ...values, JSON.stringify(copyJobEnd(run.end)));
    connection.run(DELETE_SURPLUS_RUNS, id, JOB_RUNS_MAX);
  });
}

function noteJob(connection: Connection, name: string, nowMs: number): number {
  return Number(connection.first(UPSERT_JOB, encodeText(name), nowMs)?.["id"]);
}

/** `null` where the job is to be noted first. */
function factsIn(connection: Connection, name: string, nowMs: number): JobFacts | null {
  const job = connection.first(SELECT_JOB, encodeText(name));
  if (job === undefined) return null;
  const [id, sinceMs] = [numberIn(job, "id"), numberIn(job, "since_ms")];
  if (sinceMs > nowMs) return null;
  const last = connection.first(SELECT_LAST_RUN, id);
  return {
    sinceMs,
    last: last === undefined ? null : endedRunOf(last),
    underWay: connection.all(SELECT_RUNS_UNDER_WAY, id).map(runOf),
  };
}

function runOf(row: Members): JobRun {
  const end = textOrNullIn(row, "ending");
  return {
    id: encodedTextIn(row, "key"),
    startedAtMs: numberIn(row, "started_at_ms"),
    end: end === null ? null : endOf(membersOf(end)),
  };
}

function endedRunOf(row: Members): EndedJobRun {
  return { ...runOf(row), end: endOf(membersOf(textIn(row, "ending"))) };
}

function endOf(members: Members): JobEnd {
  return {
    atMs: numberIn(members, "atMs"),
    durationMs: numberOrNullIn(members, "durationMs"),
    how: wordIn(members, "how", ["exited", "signalled", "not_started", "noted"]),
    exitCode: numberIn(members, "exitCode"),
    reason: textIn(members, "reason"),
    output: textIn(members, "output"),
  };
}
