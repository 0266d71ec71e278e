import {
  type LocationResult,
  RECEIVED_MAX,
  RECEIVED_READ_MAX,
  type SharedStore,
} from "../../domain/membership.ts";
import { type PruneProgress, StoreError } from "../../domain/store.ts";
import type { PostgresPlace, SharedStoreOptions } from "../../domain/stores.ts";
import { RecordWriter } from "../record_writer.ts";
import { SenderQueues } from "./sender_queues.ts";
import { createPostgresRecords } from "./postgres_checks.ts";
import {
  type Access,
  explaining,
  PostgresClient,
  type PostgresClientOptions,
  type Session,
} from "./postgres_client.ts";
import {
  channelKeyIn,
  createPostgresQueues,
  memberIn,
  readKnown,
  SELECT_MEMBERS,
  SELECT_PENDING_CHANNELS,
} from "./postgres_members.ts";
import {
  additions,
  drive,
  LOCATION_RESULTS,
  newRows,
  onConflict,
  prepareSchema,
  readAll,
  RECEIVED,
  runEach,
  toArrays,
  upserts,
} from "./postgres_tables.ts";
import { columnText } from "../codec.ts";
import { NO_REPORTS } from "../no_store.ts";
import { arrayText } from "../../shared/postgres/protocol.ts";
import { createCheckReads, type Dialect, nameIn } from "../sql/rows.ts";
import {
  createJobStore,
  createOutboxStore,
  deleteStrays,
  oldRows,
  readClock,
} from "../sql/outbox_and_jobs.ts";
import { CHANGES_MAX, JOURNAL_BLOCKS_MAX, limitsAt, type RetentionLimits } from "../retention.ts";
import { CHECK_TABLES, ROLLUPS } from "../sql/tables.ts";
import { DAY_MS, HOUR_MS } from "../../shared/time_units.ts";

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

const START_OF_DAY = `floor(start_ms / ${DAY_MS}) * ${DAY_MS}`;

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
    ...WORDS,
    read: (work) => attempt("read", work),
    write: (work) => attempt("write", work),
    select: (sql, parameters, read) =>
      attempt("read", async () => (await client.query(sql, parameters)).rows.map((row) => read(row))),
    transact: (action, work) =>
      attempt(action, () =>
        client.transaction(
          (session) => drive(session, work()),
          action === "read" ? "REPEATABLE READ" : "READ COMMITTED",
        )),
    end: () => isClosed = true,
  };
}

const WORDS: Omit<Dialect, "select" | "transact"> = {
  parameter: (place) => `$${place}`,
  namesIn: (place) => `SELECT unnest($${place}::text[])`,
  listOf: arrayText,
  checksIn: (place) => `unnest($${place}::text[]) AS names (value) JOIN checks ON checks.name = names.value`,
  join: "JOIN",
  bytes: "bytea",
  startOfDay: START_OF_DAY,
  packed: (columns) => `json_agg(json_build_array(${columns}))::text`,
  upserts,
  additions,
  all: readAll,
};

function createPostgresStore(
  client: PostgresClient,
  { place, random, open }: {
    readonly place: PostgresPlace;
    readonly random: () => number;
    readonly open: () => Promise<void>;
  },
): SharedStore {
  const writer = new RecordWriter(createPostgresRecords(client), random);
  const pruneSome = createPruner(client);
  const queues = new SenderQueues(createPostgresQueues(client));
  const access = createAccess(client, { place, open });
  const { read, write, select } = access;
  const outbox = createOutboxStore(access);
  let last: Promise<unknown> = Promise.resolve();
  /** Does work that needs the versions of the work before. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
  return {
    ...createCheckReads(access),
    ...outbox,
    changeOutbox: (change) =>
      queues.isShared || change.sentOpen !== undefined
        ? write(() => queues.change(change))
        : outbox.changeOutbox(change),
    ...createJobStore(
      access,
      (jobId) => [["UPDATE jobs SET checked_in_at = clock_timestamp() WHERE id = $1", [jobId]]],
    ),
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

const CHECKS_MAX = 200;

const IN_STEP = "check_id IN (SELECT id FROM step)";

/** The checks of this step, `$1` being the last id of the one before. */
const STEP = `WITH step AS (SELECT id FROM checks WHERE id > $1 ORDER BY id LIMIT ${CHECKS_MAX})`;

const DELETE_OLD_CHANGES = `${STEP} DELETE FROM changes WHERE ${IN_STEP} AND at_ms < $2`;

const DELETE_SURPLUS_CHANGES = `${STEP} DELETE FROM changes WHERE id IN (SELECT id FROM
  (SELECT id, row_number() OVER (PARTITION BY check_id ORDER BY at_ms DESC, id DESC) AS place FROM changes WHERE ${IN_STEP}) AS placed
  WHERE place > ${CHANGES_MAX})`;

const DELETE_OLD_JOURNAL = `${STEP} DELETE FROM journal WHERE ${IN_STEP} AND last_ms < $2`;

const DELETE_SURPLUS_JOURNAL = `${STEP} DELETE FROM journal USING step WHERE check_id = step.id AND last_ms <=
  (SELECT last_ms FROM journal WHERE check_id = step.id ORDER BY last_ms DESC LIMIT 1 OFFSET ${JOURNAL_BLOCKS_MAX})`;

const DELETE_OLD_ROLLUPS = `${STEP} DELETE FROM rollups WHERE ${IN_STEP} AND start_ms + span_ms < $2`;

const ADD_HOURS_TO_DAYS =
  `${STEP}, gone AS (DELETE FROM rollups WHERE ${IN_STEP} AND start_ms < $2 AND span_ms = ${HOUR_MS} RETURNING *)
  INSERT INTO rollups (${ROLLUPS.columns}) SELECT check_id, ${START_OF_DAY}, ${DAY_MS}, ${ROLLUPS.aggregates}
  FROM gone GROUP BY check_id, ${START_OF_DAY} ${onConflict(ROLLUPS)}`;

const SELECT_STEP = `${STEP} SELECT max(id) AS last, count(*) AS count FROM step`;

/** A record that another process has saved meanwhile stays. */
const DELETE_CHECKS =
  `${STEP} DELETE FROM checks WHERE id IN (SELECT id FROM step) AND seen_at_ms < $2 RETURNING id, name`;

/** Not one with notifications, which may have been received under a token that would come again. */
const DELETE_QUEUES = `DELETE FROM queues WHERE (owner IS NULL OR owner NOT IN (SELECT process FROM members))
  AND NOT EXISTS (SELECT FROM outbox WHERE outbox.channel_key = queues.channel_key)`;

/**
 * Deletes expired rows in PostgreSQL, as `createPruner` in `database_store.ts` does in SQLite: in batches of checks.
 *
 * Makes the function that forgets some and goes on from there at its next call.
 */
function createPruner(
  client: PostgresClient,
): (nowMs: number, journalMs: number | null | undefined) => Promise<PruneProgress> {
  let lastId = 0;
  return async (nowMs, journalMs) => {
    const { next, forgotten } = await client.transaction(async (session) => {
      const limits = limitsAt(await drive(session, readClock(WORDS, nowMs)), journalMs);
      if (lastId === 0) await pruneOutbox(session, limits);
      return await pruneBehind(session, lastId, limits);
    });
    lastId = next ?? 0;
    return { finished: next === null, forgotten };
  };
}

async function pruneOutbox(session: Session, limits: RetentionLimits): Promise<void> {
  await runEach(session, [
    ...oldRows(WORDS, limits).map(([table, condition, limitMs]) =>
      [`DELETE FROM ${table} WHERE ${condition}`, [limitMs]] as const
    ),
    ["DELETE FROM members WHERE beat_at < clock_timestamp() - interval '1 day'", []],
    [DELETE_QUEUES, []],
    ["DELETE FROM location_results WHERE ended_at < clock_timestamp() - interval '30 days'", []],
    // Of agents that left the config.
    ["DELETE FROM received WHERE received_at < to_timestamp($1::float8 / 1000)", [limits.seenMs]],
  ]);
}

/** `next`: the id to go on from; `null` when there are no more checks behind it. */
async function pruneBehind(session: Session, id: number, limits: RetentionLimits) {
  const [step] = (await session.run(SELECT_STEP, [id])).rows;
  const gone = (await session.run(DELETE_CHECKS, [id, limits.seenMs])).rows;
  for (const table of gone.length > 0 ? CHECK_TABLES : []) {
    const ids = `{${gone.map((row) => row["id"]).join(",")}}`;
    await session.run(`DELETE FROM ${table} WHERE check_id = ANY($1::bigint[])`, [ids]);
  }
  await runEach(session, [
    [DELETE_OLD_CHANGES, [id, limits.changeMs]],
    [DELETE_SURPLUS_CHANGES, [id]],
    [DELETE_OLD_JOURNAL, [id, limits.journalMs]],
    [DELETE_SURPLUS_JOURNAL, [id]],
    [DELETE_OLD_ROLLUPS, [id, limits.rollupEndMs]],
    [ADD_HOURS_TO_DAYS, [id, limits.dailyMs]],
  ]);
  const forgotten = gone.map(nameIn);
  if (Number(step?.["count"]) === CHECKS_MAX) return { next: Number(step?.["last"]), forgotten };
  await runEach(session, deleteStrays(WORDS, limits));
  return { next: null, forgotten };
}
