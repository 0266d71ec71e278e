/** Jobs, and the process that runs the checks, in PostgreSQL. */
import type { JobFacts, JobRun } from "../../domain/job_runs.ts";
import type { MonitorRun } from "../../domain/monitor_run.ts";
import { columnText } from "../codec.ts";
import type { Row } from "../sql/table_declaration.ts";
import { endedRunOf, runOf } from "../sql/rows.ts";
import { JOB_RUNS_MAX } from "../retention.ts";
import { JOB_RUNS, JOBS, MONITOR, ONLY_ROW } from "../sql/tables.ts";
import type { PostgresClient, Session } from "./postgres_client.ts";
import { encodeRows, insertRows, upsertRows } from "./postgres_tables.ts";

/** A job with the run that ended last and those behind it without an end; one row without a run if there is none. */
const SELECT_JOB =
  `SELECT since_ms, ${JOB_RUNS.columns} FROM jobs LEFT JOIN job_runs ON job_id = jobs.id AND (
    end_order = (SELECT max(end_order) FROM job_runs WHERE job_id = jobs.id) OR end_order IS NULL AND job_runs.id >
      (SELECT coalesce(max(id), 0) FROM job_runs WHERE job_id = jobs.id AND end_order IS NOT NULL))
  WHERE name = $1 ORDER BY job_runs.id`;

const UPSERT_JOB = `${upsertRows(JOBS)} RETURNING id`;

/** Implements `job()` of the store. */
export async function readJob(client: PostgresClient, name: string, nowMs: number): Promise<JobFacts> {
  const rows = await readRows(client, name);
  if (Number(rows[0]?.["since_ms"] ?? Infinity) <= nowMs) return factsOf(rows);
  await client.query(UPSERT_JOB, encodeRows(JOBS, [{ name, sinceMs: nowMs }]));
  return factsOf(await readRows(client, name));
}

async function readRows(client: PostgresClient, name: string): Promise<readonly Row[]> {
  return (await client.query(SELECT_JOB, [columnText.encode(name)])).rows;
}

function factsOf(rows: readonly Row[]): JobFacts {
  const runs = rows.filter((row) => row["key"] !== null);
  const last = runs.find((row) => row["end_order"] !== null);
  return {
    sinceMs: Number(rows[0]?.["since_ms"]),
    last: last === undefined ? null : endedRunOf(last),
    inProgress: runs.filter((row) => row["end_order"] === null).map(runOf),
  };
}

const INSERT_BEGUN_RUN = `${insertRows(JOB_RUNS)} ON CONFLICT (key) DO NOTHING`;

const DELETE_SURPLUS_RUNS = `DELETE FROM job_runs WHERE job_id = $1
  AND id NOT IN (SELECT id FROM job_runs WHERE job_id = $1 ORDER BY id DESC LIMIT ${JOB_RUNS_MAX})
  AND end_order IS DISTINCT FROM (SELECT max(end_order) FROM job_runs WHERE job_id = $1)`;

/** Implements `keepJobRun()` of the store. The row of the job is locked, so that ends get their order one by one. */
export async function keepJobRun(
  client: PostgresClient,
  name: string,
  { run, nowMs }: { readonly run: JobRun; readonly nowMs: number },
): Promise<void> {
  await client.transaction(async (session) => {
    const jobId = await idOf(session, UPSERT_JOB, encodeRows(JOBS, [{ name, sinceMs: nowMs }]));
    if (run.end === null) {
      await session.run(INSERT_BEGUN_RUN, encodeRows(JOB_RUNS, [{ ...run, jobId, endOrder: null }]));
    } else {
      const sql = "SELECT coalesce(max(end_order), 0) + 1 AS id FROM job_runs WHERE job_id = $1";
      const endOrder = await idOf(session, sql, [jobId]);
      await session.run(upsertRows(JOB_RUNS), encodeRows(JOB_RUNS, [{ ...run, jobId, endOrder }]));
    }
    await session.run(DELETE_SURPLUS_RUNS, [jobId]);
  });
}

async function idOf(
  session: Session,
  sql: string,
  parameters: readonly (string | number)[],
): Promise<number> {
  return Number((await session.run(sql, parameters)).rows[0]?.["id"]);
}

/** Implements `monitorRun()` of the store. */
export async function readMonitorRun(client: PostgresClient): Promise<MonitorRun | null> {
  const [row] = (await client.query(`SELECT ${MONITOR.columns} FROM monitor`)).rows;
  return row === undefined ? null : MONITOR.decode(row).run;
}

/** Implements `keepMonitorRun()` of the store. */
export async function keepMonitorRun(client: PostgresClient, run: MonitorRun): Promise<void> {
  await client.query(upsertRows(MONITOR), encodeRows(MONITOR, [{ id: ONLY_ROW, run }]));
}
