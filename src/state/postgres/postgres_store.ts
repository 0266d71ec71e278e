import type { LocationResult, SharedStore, StoredLocationResult } from "../../domain/membership.ts";
import { StoreError } from "../../domain/store.ts";
import type { PostgresPlace, SharedStoreOptions } from "../../domain/stores.ts";
import { RecordWriter } from "../record_writer.ts";
import { SenderQueues } from "../sender_queues.ts";
import {
  createPostgresRecords,
  readChanges,
  readLatestChanges,
  readRecentRuns,
  readRollups,
  readRollupSums,
} from "./postgres_checks.ts";
import { PostgresClient, type PostgresClientOptions, type Session } from "./postgres_client.ts";
import {
  addSilences,
  changeOutbox,
  endSilences,
  queueSummary,
  readOutbox,
  readQueuedSummary,
  readSilences,
} from "./postgres_outbox.ts";
import { createPruner } from "./postgres_prune.ts";
import { readMembers } from "./postgres_members.ts";
import { createPostgresQueues, readKnown, readPendingChannels } from "./postgres_queues.ts";
import { prepareSchema } from "./postgres_schema.ts";
import { explainPostgresFailure } from "./server_failure.ts";
import { columnText } from "../codec.ts";
import {
  encodeRows,
  insertRows,
  LOCATION_RESULTS,
  newRows,
  toArrays,
  upsertRows,
} from "./postgres_tables.ts";
import { arrayText } from "./protocol.ts";
import type { JobFacts, JobRun } from "../../domain/job_runs.ts";
import type { MonitorRun } from "../../domain/monitor_run.ts";
import type { Row } from "../sql/table_declaration.ts";
import { endedRunOf, runOf } from "../sql/rows.ts";
import { JOB_RUNS_MAX } from "../retention.ts";
import { JOB_RUNS, JOBS, MONITOR, ONLY_ROW } from "../sql/tables.ts";

export interface PostgresStoreOptions extends PostgresClientOptions, SharedStoreOptions {
  /** A number of 0 or more, below 1. */
  random(): number;
}

/**
 * Opens a state that is stored in PostgreSQL, and makes its tables if there are none.
 *
 * @throws {StoreError} If it can't be opened; `missing` if it is to be read and there is none.
 */
export async function openPostgresStore(
  place: PostgresPlace,
  options: PostgresStoreOptions,
): Promise<SharedStore> {
  const client = new PostgresClient(place, options);
  const { access, waiting } = options;
  const prepare = async (): Promise<void> => {
    try {
      await prepareSchema(client, place, access);
    } catch (error) {
      throw explainPostgresFailure(error, { action: "open", place }) ?? error;
    }
  };
  let opening: Promise<void> | null = prepare();
  try {
    await opening;
  } catch (error) {
    if (waiting === undefined || !isUnreachable(error)) {
      client.close();
      throw error;
    }
    waiting.onUnreachable(error);
    opening = null;
  }
  const open = (): Promise<void> =>
    opening ??= prepare().catch((error) => {
      opening = null;
      if (!isUnreachable(error)) waiting?.onUnusable(error);
      throw error;
    });
  return createPostgresStore(client, { place, random: options.random, open });
}

function isUnreachable(error: unknown): error is StoreError {
  return error instanceof StoreError && error.failure === "unreachable";
}

interface Access {
  read<T>(work: () => Promise<T>): Promise<T>;
  write<T>(work: () => Promise<T>): Promise<T>;
  /** Does work that needs the versions of the work before. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  /** From now on, all work is rejected. */
  end(): void;
}

/** Explains the failures of work; `open` resolves once the tables exist. */
function createAccess(place: PostgresPlace, open: () => Promise<void>): Access {
  let isClosed = false;
  let last: Promise<unknown> = Promise.resolve();
  const explaining = async <T>(action: "read" | "write", work: () => Promise<T>): Promise<T> => {
    if (isClosed) throw new StoreError(`cannot ${action} state "${place.url}": it was closed`, "other");
    try {
      await open();
      return await work();
    } catch (error) {
      throw explainPostgresFailure(error, { action, place }) ?? error;
    }
  };
  return {
    read: (work) => explaining("read", work),
    write: (work) => explaining("write", work),
    inTurn: (work) => {
      const turn = last.then(work);
      last = turn.catch(() => {});
      return turn;
    },
    end: () => isClosed = true,
  };
}

function createPostgresStore(
  client: PostgresClient,
  { place, random, open }: {
    readonly place: PostgresPlace;
    readonly random: () => number;
    /** Resolves once the tables are there. */
    readonly open: () => Promise<void>;
  },
): SharedStore {
  const writer = new RecordWriter(createPostgresRecords(client), random);
  const pruneSome = createPruner(client);
  const queues = new SenderQueues(createPostgresQueues(client));
  const { read, write, inTurn, end } = createAccess(place, open);
  return {
    records: () => inTurn(() => read(() => writer.records())),
    load: (names) => inTurn(() => read(() => writer.load(names))),
    save: (updates) => inTurn(() => write(() => writer.save(updates))),
    changes: (name, options) => read(() => readChanges(client, name, options)),
    latestChanges: (names, limit) => read(() => readLatestChanges(client, names, limit)),
    rollups: (name, sinceMs) => read(() => readRollups(client, name, sinceMs)),
    rollupSums: (names, options) => read(() => readRollupSums(client, names, options)),
    recentRuns: (names) => read(() => readRecentRuns(client, names)),
    outbox: () => read(() => readOutbox(client)),
    changeOutbox: (change) =>
      write(() =>
        queues.isShared || change.sentOpen !== undefined
          ? queues.change(change)
          : changeOutbox(client, change)
      ),
    members: () => read(() => readMembers(client)),
    readOthers: (names) => read(() => writer.readOthers(names)),
    known: (names) => read(() => readKnown(client, names)),
    pendingChannels: () => read(() => readPendingChannels(client)),
    takeQueue: (queue, owner) => write(() => queues.take(queue, owner)),
    giveBackQueue: (queue) => write(() => queues.giveBack(queue)),
    receive: (some) => write(() => queues.receive(some)),
    owns: (channelKey) => queues.owns(channelKey),
    open: () => read(open),
    versionOf: (name) => writer.versionOf(name),
    saveLocationResults: (results) => write(() => saveLocationResults(client, results)),
    locationResults: (checks) => read(() => readLocationResults(client, checks)),
    silences: (nowMs) => read(() => readSilences(client, nowMs)),
    addSilences: (silences) => write(() => addSilences(client, silences)),
    endSilences: (checks, nowMs) => write(() => endSilences(client, checks, nowMs)),
    job: (name, nowMs) => read(() => readJob(client, name, nowMs)),
    keepJobRun: (name, run, nowMs) => write(() => keepJobRun(client, name, { run, nowMs })),
    monitorRun: () => read(() => readMonitorRun(client)),
    keepMonitorRun: (run) => write(() => keepMonitorRun(client, run)),
    queuedSummary: () => read(() => readQueuedSummary(client)),
    queueSummary: (summary, before, queued) => write(() => queueSummary(client, { summary, before, queued })),
    prune: async (nowMs) => {
      const progress = await write(() => pruneSome(nowMs));
      writer.forget(progress.forgotten);
      return progress;
    },
    close: () => {
      end();
      client.close();
      return Promise.resolve();
    },
  };
}

// The last result of each check at each of its locations, in PostgreSQL.

/** `runs` marks a result as new. The age comes from the member that recorded it, whatever its clock shows. */
const SAVE = `INSERT INTO location_results (${LOCATION_RESULTS.columns}, ended_at)
  SELECT ${LOCATION_RESULTS.columns}, clock_timestamp() - make_interval(secs => age_ms / 1000)
  FROM ${newRows(LOCATION_RESULTS, { before: [["age_ms", "float8"]] })} ORDER BY place
  ON CONFLICT (check_name, location) DO UPDATE SET runs = location_results.runs + 1, result = excluded.result, trace = excluded.trace, ended_at = excluded.ended_at`;

/** Saves results, at most one of each check and location. */
async function saveLocationResults(
  client: PostgresClient,
  results: readonly (LocationResult & { readonly ageMs: number })[],
): Promise<void> {
  // In the same order in all members, to avoid deadlocks.
  const rows = results.toSorted((one, other) => one.check < other.check ? -1 : 1)
    .map((result) => [result.ageMs, ...LOCATION_RESULTS.encode({ ...result, runs: 1 })]);
  await client.query(SAVE, toArrays(rows, 1 + LOCATION_RESULTS.declared.length));
}

const SELECT =
  `SELECT ${LOCATION_RESULTS.columns}, extract(epoch FROM clock_timestamp() - ended_at)::float8 * 1000 AS age_ms
  FROM location_results WHERE check_name = ANY($1::text[])`;

/** Returns the results of some checks, in no order. */
async function readLocationResults(
  client: PostgresClient,
  checks: readonly string[],
): Promise<readonly StoredLocationResult[]> {
  const { rows } = await client.query(SELECT, [arrayText([...new Set(checks)].map(columnText.encode))]);
  return rows.map((row) => ({ ...LOCATION_RESULTS.decode(row), ageMs: Math.max(0, Number(row["age_ms"])) }));
}

// Jobs, and the process that runs the checks, in PostgreSQL.

/** A job with the run that ended last and those behind it without an end; one row without a run if there is none. */
const SELECT_JOB =
  `SELECT since_ms, ${JOB_RUNS.columns} FROM jobs LEFT JOIN job_runs ON job_id = jobs.id AND (
    end_order = (SELECT max(end_order) FROM job_runs WHERE job_id = jobs.id) OR end_order IS NULL AND job_runs.id >
      (SELECT coalesce(max(id), 0) FROM job_runs WHERE job_id = jobs.id AND end_order IS NOT NULL))
  WHERE name = $1 ORDER BY job_runs.id`;

const UPSERT_JOB = `${upsertRows(JOBS)} RETURNING id`;

/** Implements `job()` of the store. */
async function readJob(client: PostgresClient, name: string, nowMs: number): Promise<JobFacts> {
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
async function keepJobRun(
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
      await session.run("UPDATE jobs SET checked_in_at = clock_timestamp() WHERE id = $1", [jobId]);
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
async function readMonitorRun(client: PostgresClient): Promise<MonitorRun | null> {
  const [row] = (await client.query(`SELECT ${MONITOR.columns} FROM monitor`)).rows;
  return row === undefined ? null : MONITOR.decode(row).run;
}

/** Implements `keepMonitorRun()` of the store. */
async function keepMonitorRun(client: PostgresClient, run: MonitorRun): Promise<void> {
  await client.query(upsertRows(MONITOR), encodeRows(MONITOR, [{ id: ONLY_ROW, run }]));
}
