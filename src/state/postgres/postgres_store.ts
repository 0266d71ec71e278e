import {
  type LocationResult,
  RECEIVED_MAX,
  RECEIVED_READ_MAX,
  type SharedStore,
} from "../../domain/membership.ts";
import { StoreError } from "../../domain/store.ts";
import type { PostgresPlace, SharedStoreOptions } from "../../domain/stores.ts";
import { RecordWriter } from "../record_writer.ts";
import { SenderQueues } from "../sender_queues.ts";
import { createCheckReads, createPostgresRecords } from "./postgres_checks.ts";
import { type Access, PostgresClient, type PostgresClientOptions, type Session } from "./postgres_client.ts";
import { createOutboxStore } from "./postgres_outbox.ts";
import { createPruner } from "./postgres_prune.ts";
import { memberIn, SELECT_MEMBERS } from "./postgres_members.ts";
import { channelKeyIn, createPostgresQueues, readKnown, SELECT_PENDING_CHANNELS } from "./postgres_queues.ts";
import { prepareSchema } from "./postgres_schema.ts";
import { explaining } from "./server_failure.ts";
import { columnText } from "../codec.ts";
import { NO_REPORTS } from "../no_store.ts";
import {
  encodeRows,
  insertRows,
  LOCATION_RESULTS,
  newRows,
  RECEIVED,
  toArrays,
  upsertRows,
} from "./postgres_tables.ts";
import { arrayText } from "../../shared/postgres/protocol.ts";
import type { JobFacts, JobRun } from "../../domain/job_runs.ts";
import type { Row } from "../sql/table_declaration.ts";
import { endedRunOf, runOf } from "../sql/rows.ts";
import { JOB_RUNS_MAX } from "../retention.ts";
import { JOB_RUNS, JOBS, MONITOR, ONLY_ROW } from "../sql/tables.ts";

export interface PostgresStoreOptions extends PostgresClientOptions, SharedStoreOptions {
  /** A number of 0 or more, below 1. */
  random(): number;
}

/**
 * Opens a state in PostgreSQL, and makes its tables if there are none.
 * @throws {StoreError} If it can't be opened; `missing` if it is to be read and there is none.
 */
export async function openPostgresStore(
  place: PostgresPlace,
  options: PostgresStoreOptions,
): Promise<SharedStore> {
  const client = new PostgresClient(place, options);
  const { access, waiting } = options;
  const prepare = (): Promise<void> =>
    explaining({ action: "open", place }, () => prepareSchema(client, place, access));
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

/** Explains the failures of work; `open` resolves once the tables exist. After `end`, all work is rejected. */
function createAccess(
  client: PostgresClient,
  { place, open }: { readonly place: PostgresPlace; readonly open: () => Promise<void> },
): Access & { end(): void } {
  let isClosed = false;
  const attempt = async <T>(action: "read" | "write", work: () => Promise<T>): Promise<T> => {
    if (isClosed) throw new StoreError(`cannot ${action} state "${place.url}": it was closed`, "other");
    return await explaining({ action, place }, async () => {
      await open();
      return await work();
    });
  };
  return {
    read: (work) => attempt("read", work),
    write: (work) => attempt("write", work),
    select: (sql, parameters, read) =>
      attempt("read", async () => (await client.query(sql, parameters)).rows.map((row) => read(row))),
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
  const access = createAccess(client, { place, open });
  const { read, write, select } = access;
  let last: Promise<unknown> = Promise.resolve();
  /** Does work that needs the versions of the work before. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
  return {
    ...createCheckReads(access),
    ...createOutboxStore(client, { ...access, queues }),
    // Each member would report by itself; the config is rejected.
    ...NO_REPORTS,
    records: () => inTurn(() => read(() => writer.records())),
    load: (names) => inTurn(() => read(() => writer.load(names))),
    save: (updates) => inTurn(() => write(() => writer.save(updates))),
    members: () => select(SELECT_MEMBERS, [], memberIn),
    readOthers: (...wanted) => read(() => writer.readOthers(...wanted)),
    known: (names) => read(() => readKnown(client, names)),
    pendingChannels: () => select(SELECT_PENDING_CHANNELS, [], channelKeyIn),
    takeQueue: (queue, owner) => write(() => queues.take(queue, owner)),
    giveBackQueue: (queue) => write(() => queues.giveBack(queue)),
    receive: (some) => write(() => queues.receive(some)),
    owns: (channelKey) => queues.owns(channelKey),
    open: () => read(open),
    versionOf: (name) => writer.versionOf(name),
    saveLocationResults: (results) => write(() => saveLocationResults(client, results)),
    locationResults: (checks) =>
      select(SELECT_RESULTS, [arrayText([...new Set(checks)].map(columnText.encode))], (row) => ({
        ...LOCATION_RESULTS.decode(row),
        ageMs: Math.max(0, Number(row["age_ms"])),
      })),
    keepReceived: (agent, batch) =>
      write(async () => {
        const { rows } = await client.query(INSERT_RECEIVED, RECEIVED.encode({ agent, batch }).map(String));
        return rows.length > 0;
      }),
    received: (agent) =>
      select(SELECT_RECEIVED, [columnText.encode(agent)], (row) => ({
        id: Number(row["id"]),
        batch: RECEIVED.decode(row).batch,
        ageMs: Math.max(0, Number(row["age_ms"])),
      })),
    deleteReceived: (ids) =>
      write(async () => void await client.query(DELETE_RECEIVED, [arrayText(ids.map(String))])),
    job: (name, nowMs) => read(() => readJob(client, name, nowMs)),
    keepJobRun: (name, run, nowMs) => write(() => keepJobRun(client, name, { run, nowMs })),
    monitorRun: async () =>
      (await select(`SELECT ${MONITOR.columns} FROM monitor`, [], MONITOR.decode))[0]?.run ?? null,
    keepMonitorRun: (run) =>
      write(async () => {
        await client.query(upsertRows(MONITOR), encodeRows(MONITOR, [{ id: ONLY_ROW, run }]));
      }),
    prune: async (nowMs, journalMs) => {
      const progress = await write(() => pruneSome(nowMs, journalMs));
      writer.forget(progress.forgotten);
      return progress;
    },
    close: () => {
      access.end();
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

const SELECT_RESULTS =
  `SELECT ${LOCATION_RESULTS.columns}, extract(epoch FROM clock_timestamp() - ended_at)::float8 * 1000 AS age_ms
  FROM location_results WHERE check_name = ANY($1::text[])`;

// What agents reported, in PostgreSQL.

const INSERT_RECEIVED = `INSERT INTO received (${RECEIVED.columns}) SELECT $1::text, $2::text
  WHERE (SELECT count(*) FROM received WHERE agent = $1) < ${RECEIVED_MAX} RETURNING id`;

const SELECT_RECEIVED =
  `SELECT id, ${RECEIVED.columns}, extract(epoch FROM clock_timestamp() - received_at)::float8 * 1000 AS age_ms
  FROM received WHERE agent = $1 ORDER BY id LIMIT ${RECEIVED_READ_MAX}`;

const DELETE_RECEIVED = "DELETE FROM received WHERE id = ANY($1::bigint[])";

// Jobs in PostgreSQL.

/** A job with the run that ended last and those behind it without an end; one row without a run if there is none. */
const SELECT_JOB =
  `SELECT since_ms, ${JOB_RUNS.columns} FROM jobs LEFT JOIN job_runs ON job_id = jobs.id AND (
    end_order = (SELECT max(end_order) FROM job_runs WHERE job_id = jobs.id) OR end_order IS NULL AND job_runs.id >
      (SELECT coalesce(max(id), 0) FROM job_runs WHERE job_id = jobs.id AND end_order IS NOT NULL))
  WHERE name = $1 ORDER BY job_runs.id`;

const UPSERT_JOB = `${upsertRows(JOBS)} RETURNING id`;

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

/** The row of the job is locked, so that ends get their order one by one. */
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

async function idOf(session: Session, sql: string, parameters: readonly (string | number)[]) {
  return Number((await session.run(sql, parameters)).rows[0]?.["id"]);
}
