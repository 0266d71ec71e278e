import {
  type JobFacts,
  type JobRun,
  type PruneProgress,
  type Store,
  StoreError,
} from "../../domain/store.ts";
import {
  type Access,
  explaining,
  type Patience,
  type SqliteConnection,
  whileBusy,
} from "./sqlite_connection.ts";
import {
  createCheckStore,
  createReportStore,
  deleteCheck,
  pruneCheck,
  SELECT_CHECKS_BEHIND,
} from "./sqlite_checks.ts";
import { createOutboxStore, pruneOutbox } from "./sqlite_outbox.ts";
import { CLOCK, JOB_RUNS, JOBS, MONITOR } from "../sql/tables.ts";
import { columnText, number } from "../codec.ts";
import { DELETE_STRAY_MARKERS, endedRunOf, runOf } from "../sql/rows.ts";
import { addReading, type ClockReadings, JOB_RUNS_MAX, limitsAt } from "../retention.ts";

/** The store of a database that is open and up to date, which it closes. The path is for error messages. */
export function createDatabaseStore(connection: SqliteConnection, path: string, patience?: Patience): Store {
  const pruneSome = createPruner(connection);
  const access = createAccess(connection, path, patience);
  const { read, write } = access;
  return {
    ...createCheckStore(connection, access),
    ...createOutboxStore(connection, access),
    ...createReportStore(connection, access),
    job: (name, nowMs) => read(() => readJob(connection, name, nowMs)),
    keepJobRun: (name, run, nowMs) => write(() => keepJobRun(connection, name, { run, nowMs })),
    monitorRun: async () =>
      (await access.select(`SELECT ${MONITOR.columns} FROM monitor`, [], MONITOR.decode))[0]?.run ?? null,
    keepMonitorRun: (run) => write(() => void connection.run(MONITOR.upsert, ...MONITOR.encode({ run }))),
    prune: (nowMs, journalMs) => write(() => pruneSome(nowMs, journalMs)),
    close: () => Promise.resolve(connection.close()),
  };
}

function createAccess(connection: SqliteConnection, path: string, patience: Patience | undefined): Access {
  let writing: Promise<unknown> = Promise.resolve();
  const attempt = <T>(action: "read" | "write", work: () => T): Promise<T> =>
    explaining({ action, path }, () =>
      whileBusy(() => {
        if (connection.isOpen) return work();
        throw new StoreError(`cannot ${action} state "${path}": it was closed`, "other");
      }, patience));
  return {
    parameter: (place) => `?${place}`,
    namesIn: (place) => `SELECT value FROM json_each(?${place})`,
    listOf: JSON.stringify,
    select: (sql, parameters, read) =>
      attempt("read", () => connection.all(sql, ...parameters).map((row) => read(row))),
    read: (work) => attempt("read", work),
    write: (work) => {
      const turn = writing.then(() => attempt("write", work));
      writing = turn.catch(() => {});
      return turn;
    },
  };
}

function readJob(connection: SqliteConnection, name: string, nowMs: number): JobFacts {
  return connection.transaction(() => factsIn(connection, name, nowMs), "DEFERRED") ??
    connection.transaction(() => {
      noteJob(connection, name, nowMs);
      return factsIn(connection, name, nowMs);
    }) ?? { sinceMs: nowMs, last: null, inProgress: [] };
}

function keepJobRun(
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

/**
 * Returns a function that deletes old data of a few checks at a time, in a cycle over their ids. One call is one
 * transaction of some milliseconds: it ends after so many checks, or earlier once it has changed so many rows.
 */
function createPruner(
  connection: SqliteConnection,
): (nowMs: number, journalMs: number | null | undefined) => PruneProgress {
  let lastId = 0;
  return (nowMs, journalMs) => {
    const forgotten: string[] = [];
    /** The id of the last examined check; `null`: it was the last one of all. */
    const end = connection.transaction(() => {
      const limits = limitsAt(readClock(connection, nowMs).earlierMs, journalMs);
      let rows = pruneOutbox(connection, limits, ROWS_MAX);
      if (rows >= ROWS_MAX) return lastId;
      const checks = connection.all(SELECT_CHECKS_BEHIND, lastId, CHECKS_MAX);
      for (const check of checks) {
        const checkId = Number(check["id"]);
        const isForgotten = Number(check["seen_at_ms"]) < limits.seenMs;
        rows += isForgotten ? deleteCheck(connection, checkId) : pruneCheck(connection, checkId, limits);
        if (isForgotten) forgotten.push(columnText.decode(check["name"], "name"));
        if (rows >= ROWS_MAX) return checkId;
      }
      if (checks.length === CHECKS_MAX) return Number(checks.at(-1)?.["id"]);
      connection.run(DELETE_STRAY_MARKERS);
      connection.run(DELETE_OLD_JOB_RUNS, limits.seenMs);
      connection.run(DELETE_OLD_JOBS, limits.seenMs);
      return null;
    });
    lastId = end ?? 0;
    return { finished: end === null && shrink(connection), forgotten };
  };
}

function readClock(connection: SqliteConnection, nowMs: number): ClockReadings {
  const row = connection.first(`SELECT ${CLOCK.columns} FROM clock`);
  const before = row === undefined ? null : CLOCK.decode(row);
  const readings = addReading(before, nowMs);
  if (readings !== before) connection.run(CLOCK.upsert, ...CLOCK.encode(readings));
  return readings;
}

const CHECKS_MAX = 200;

const ROWS_MAX = 1000;

/** The number of free pages that stay for later writes: a megabyte. */
const FREE_PAGES_MAX = 256;

const FREE_PAGES = "PRAGMA freelist_count";

const PAGES_MAX = 250;

/** Releases free pages up to a limit; returns whether that was all. The file shrinks at the next checkpoint. */
function shrink(connection: SqliteConnection): boolean {
  const free = number.decode(connection.first(FREE_PAGES)?.["freelist_count"], "freelist_count");
  const surplus = free - FREE_PAGES_MAX;
  if (surplus <= 0) return true;
  // A page for each row that is read, so that `run` would give back one alone.
  const count = connection.all(`PRAGMA incremental_vacuum(${PAGES_MAX})`).length;
  return count === 0 || surplus <= PAGES_MAX;
}

// The statements on jobs that are more than an upsert of a row. Names and keys are encoded as column text.

const SELECT_JOB = "SELECT id, since_ms FROM jobs WHERE name = ?";

const UPSERT_JOB = `${JOBS.upsert} RETURNING id`;

const SELECT_LAST_RUN = `SELECT ${JOB_RUNS.columns} FROM job_runs
  WHERE job_id = ? AND end_order IS NOT NULL ORDER BY end_order DESC LIMIT 1`;

/** The runs of a job without an end behind the newest one with an end, the oldest first. */
const SELECT_RUNS_IN_PROGRESS = `SELECT ${JOB_RUNS.columns} FROM job_runs
  WHERE job_id = ?1 AND end_order IS NULL
    AND id > (SELECT coalesce(max(id), 0) FROM job_runs WHERE job_id = ?1 AND end_order IS NOT NULL)
  ORDER BY id`;

const INSERT_BEGUN_RUN = `${JOB_RUNS.insert} ON CONFLICT (key) DO NOTHING`;

const SELECT_END_ORDER = "SELECT coalesce(max(end_order), 0) + 1 AS end_order FROM job_runs WHERE job_id = ?";

/** Forgets the runs of a job beyond so many of the newest, but not the one whose end was noted last. */
const DELETE_SURPLUS_RUNS = `DELETE FROM job_runs WHERE id IN (
    SELECT id FROM job_runs WHERE job_id = ?1 ORDER BY id DESC LIMIT -1 OFFSET ?2)
  AND id IS NOT (SELECT id FROM job_runs WHERE job_id = ?1 AND end_order IS NOT NULL
    ORDER BY end_order DESC LIMIT 1)`;

const OLD_JOBS = `SELECT id FROM jobs WHERE name NOT IN (SELECT name FROM checks) AND since_ms < ?1
    AND NOT EXISTS (SELECT 1 FROM job_runs WHERE job_id = jobs.id AND started_at_ms >= ?1)`;

/** Forgets the runs of jobs without a check that nothing was heard of since a time. */
const DELETE_OLD_JOB_RUNS = `DELETE FROM job_runs WHERE job_id IN (${OLD_JOBS})`;

const DELETE_OLD_JOBS = `DELETE FROM jobs WHERE id IN (${OLD_JOBS})`;
