/** The part of the store for jobs in a database. Each function is synchronous, and throws errors. */
import type { JobFacts, JobRun } from "../../domain/job_runs.ts";
import { columnText, number } from "../codec.ts";
import { endedRunOf, runOf } from "../sql/rows.ts";
import type { SqliteConnection } from "./sqlite_connection.ts";
import {
  DELETE_SURPLUS_RUNS,
  INSERT_BEGUN_RUN,
  SELECT_END_ORDER,
  SELECT_JOB,
  SELECT_LAST_RUN,
  SELECT_RUNS_IN_PROGRESS,
  UPSERT_JOB,
} from "./job_statements.ts";
import { JOB_RUNS_MAX } from "../retention.ts";
import { JOB_RUNS, JOBS } from "../sql/tables.ts";

/** Implements `job()` of the store. */
export function readJob(connection: SqliteConnection, name: string, nowMs: number): JobFacts {
  return connection.transaction(() => factsIn(connection, name, nowMs), "DEFERRED") ??
    connection.transaction(() => {
      noteJob(connection, name, nowMs);
      return factsIn(connection, name, nowMs);
    }) ?? { sinceMs: nowMs, last: null, inProgress: [] };
}

/** Implements `keepJobRun()` of the store. */
export function keepJobRun(
  connection: SqliteConnection,
  name: string,
  { run, nowMs }: { readonly run: JobRun; readonly nowMs: number },
): void {
  connection.transaction(() => {
    const jobId = noteJob(connection, name, nowMs);
    if (run.end === null) {
      connection.run(INSERT_BEGUN_RUN, ...JOB_RUNS.encode({ ...run, jobId, endOrder: null }));
    } else {
      const endOrder = Number(connection.first(SELECT_END_ORDER, jobId)?.["end_order"]);
      connection.run(JOB_RUNS.upsert, ...JOB_RUNS.encode({ ...run, jobId, endOrder }));
    }
    connection.run(DELETE_SURPLUS_RUNS, jobId, JOB_RUNS_MAX);
  });
}

function noteJob(connection: SqliteConnection, name: string, nowMs: number): number {
  return Number(connection.first(UPSERT_JOB, ...JOBS.encode({ name, sinceMs: nowMs }))?.["id"]);
}

/** `null` where the job is to be noted first. */
function factsIn(connection: SqliteConnection, name: string, nowMs: number): JobFacts | null {
  const job = connection.first(SELECT_JOB, columnText.encode(name));
  if (job === undefined) return null;
  const id = number.decode(job["id"], "id");
  const sinceMs = number.decode(job["since_ms"], "since_ms");
  if (sinceMs > nowMs) return null;
  const last = connection.first(SELECT_LAST_RUN, id);
  return {
    sinceMs,
    last: last === undefined ? null : endedRunOf(last),
    inProgress: connection.all(SELECT_RUNS_IN_PROGRESS, id).map(runOf),
  };
}
