import { type Store, StoreError } from "../../domain/store.ts";
import type { SqliteConnection } from "./sqlite_connection.ts";
import {
  keepUpdate,
  readChanges,
  readLatestChanges,
  readRecentRuns,
  readRecords,
  readRollups,
  readRollupSums,
} from "./sqlite_checks.ts";
import { keepJobRun, readJob } from "./sqlite_jobs.ts";
import { keepMonitorRun, readMonitorRun } from "./sqlite_monitor.ts";
import {
  addSilences,
  changeOutbox,
  endSilences,
  queueSummary,
  readOutbox,
  readQueuedSummary,
  readSilences,
} from "./sqlite_outbox.ts";
import { type Patience, whileBusy } from "./patience.ts";
import { createPruner } from "./sqlite_prune.ts";
import { explainStoreFailure } from "./store_failure.ts";

/**
 * The store whose tables are in a database that is open and up to date; it closes the database in the end. The
 * path is for its error messages.
 */
export function createDatabaseStore(connection: SqliteConnection, path: string, patience?: Patience): Store {
  const pruneSome = createPruner(connection);
  const { read, write } = createAccess(connection, path, patience);
  return {
    records: () => read(() => readRecords(connection)),
    save: (updates) =>
      write(() => {
        // One process owns the file, so no other has written a record meanwhile.
        if (updates.length === 0) return [];
        connection.transaction(() => updates.forEach((update) => keepUpdate(connection, update)));
        return [];
      }),
    changes: (name, options) => read(() => readChanges(connection, name, options)),
    latestChanges: (names, limit) => read(() => readLatestChanges(connection, names, limit)),
    rollups: (name, sinceMs) => read(() => readRollups(connection, name, sinceMs)),
    rollupSums: (names, options) => read(() => readRollupSums(connection, names, options)),
    recentRuns: (names) => read(() => readRecentRuns(connection, names)),
    outbox: () => read(() => readOutbox(connection)),
    changeOutbox: (change) => write(() => changeOutbox(connection, change)),
    silences: (nowMs) => read(() => readSilences(connection, nowMs)),
    addSilences: (silences) => write(() => addSilences(connection, silences)),
    endSilences: (checks, nowMs) => write(() => endSilences(connection, checks, nowMs)),
    job: (name, nowMs) => read(() => readJob(connection, name, nowMs)),
    keepJobRun: (name, run, nowMs) => write(() => keepJobRun(connection, name, { run, nowMs })),
    monitorRun: () => read(() => readMonitorRun(connection)),
    keepMonitorRun: (run) => write(() => keepMonitorRun(connection, run)),
    queuedSummary: () => read(() => readQueuedSummary(connection)),
    queueSummary: (summary, before, queued) =>
      write(() => queueSummary(connection, { summary, before, queued })),
    prune: (nowMs) => write(() => pruneSome(nowMs)),
    close: () => {
      connection.close();
      return Promise.resolve();
    },
  };
}

/** Runs work on a database; errors become a {@linkcode StoreError}. */
interface Access {
  read<T>(work: () => T): Promise<T>;
  /** Each write waits for the one before, so that their order stays even if they wait for other processes. */
  write<T>(work: () => T): Promise<T>;
}

function createAccess(connection: SqliteConnection, path: string, patience: Patience | undefined): Access {
  let writing: Promise<unknown> = Promise.resolve();
  const attempt = async <T>(action: "read" | "write", work: () => T): Promise<T> => {
    try {
      return await whileBusy(() => {
        if (connection.isOpen) return work();
        throw new StoreError(`cannot ${action} state "${path}": it was closed`, "other");
      }, patience);
    } catch (error) {
      throw explainStoreFailure(error, { action, path }) ?? error;
    }
  };
  return {
    read: (work) => attempt("read", work),
    write: (work) => {
      const turn = writing.then(() => attempt("write", work));
      writing = turn.catch(() => {});
      return turn;
    },
  };
}
