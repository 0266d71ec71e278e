import type { PostgresPlace } from "../../domain/postgres_place.ts";
import type { SharedStore } from "../../domain/membership.ts";
import { StoreError } from "../../domain/store.ts";
import type { SharedStoreOptions } from "../../domain/stores.ts";
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
import { PostgresClient, type PostgresClientOptions } from "./postgres_client.ts";
import { keepJobRun, keepMonitorRun, readJob, readMonitorRun } from "./postgres_jobs.ts";
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
import { readLocationResults, saveLocationResults } from "./postgres_locations.ts";
import { readMembers } from "./postgres_members.ts";
import { createPostgresQueues, readKnown, readPendingChannels } from "./postgres_queues.ts";
import { prepareSchema } from "./postgres_schema.ts";
import { explainPostgresFailure } from "./server_failure.ts";

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
