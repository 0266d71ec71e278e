import { type Condition, CONDITIONS } from "../domain/condition.ts";
import {
  type CheckUpdate,
  type ConditionChange,
  type RollupEntry,
  type Store,
  StoreError,
} from "../domain/store.ts";
import type { Connection } from "./connection.ts";
import { copyChange } from "./copies.ts";
import {
  addSilences,
  changeOutbox,
  endSilences,
  keepOutboxRow,
  readOutbox,
  readSilences,
} from "./database_outbox.ts";
import { keepJobRun, readJob } from "./database_jobs.ts";
import { keepMonitorRun, readMonitorRun } from "./database_monitor.ts";
import { explainStoreFailure } from "./store_failure.ts";
import { type Patience, whileBusy } from "./patience.ts";
import { createPruner } from "./prune.ts";
import { HOUR_MS, startOf } from "./retention.ts";
import { encodedTextIn, encodeText } from "./members.ts";
import { FRESH_BYTES_MAX, packRun, unpackRuns } from "./recent_runs.ts";
import { changeOfRow, recordOfRow, rollupOfRow, rowOfRecord, sumsOfRow } from "./rows.ts";
import {
  ADD_TO_ROLLUP,
  INSERT_CHANGE,
  MOVE_FRESH_RUNS,
  SELECT_CHANGES,
  SELECT_CHECK_SUMS,
  SELECT_DAY_SUMS,
  SELECT_RECENT,
  SELECT_RECORDS,
  SELECT_ROLLUPS,
  UPSERT_RECORD,
} from "./statements.ts";

/**
 * The store whose tables are in a database that is open and up to date; it closes the database in the end. The
 * path is for its error messages.
 */
export function createDatabaseStore(connection: Connection, path: string, patience?: Patience): Store {
  const pruneSome = createPruner(connection);
  /** The last write: the next one waits for it, so that writes keep their order also while they wait for others. */
  let writing: Promise<unknown> = Promise.resolve();

  const attempt = async <T>(action: "read" | "write", work: () => T): Promise<T> => {
    try {
      return await whileBusy(() => {
        if (connection.isOpen) return work();
        throw new StoreError(`Cannot ${action} state "${path}": it was closed`, "other");
      }, patience);
    } catch (error) {
      throw explainStoreFailure(error, { action, path }) ?? error;
    }
  };
  const answer = <T>(action: "read" | "write", work: () => T): Promise<T> => {
    if (action === "read") return attempt(action, work);
    const turn = writing.then(() => attempt(action, work));
    writing = turn.catch(() => {});
    return turn;
  };

  return {
    records: () => answer("read", () => connection.all(SELECT_RECORDS).map(recordOfRow)),
    save: (updates) =>
      answer("write", () => {
        if (updates.length === 0) return;
        connection.transaction(() => updates.forEach((update) => keep(connection, update)));
      }),
    changes: (name, { sinceMs, limit, from = { atMs: Infinity, skip: 0 } }) =>
      answer("read", () => {
        const values = [encodeText(name), sinceMs, from.atMs, toRowLimit(limit), from.skip];
        const rows = connection.all(SELECT_CHANGES, ...values);
        return rows.map((row) => changeOfRow(name, row));
      }),
    rollups: (name, sinceMs) =>
      answer("read", () => {
        const rows = connection.all(SELECT_ROLLUPS, encodeText(name), sinceMs);
        return rows.map((row) => rollupOfRow(name, row));
      }),
    rollupSums: (names, { sinceMs, untilMs, each }) =>
      answer("read", () => {
        const statement = each === "day" ? SELECT_DAY_SUMS : SELECT_CHECK_SUMS;
        const list = JSON.stringify([...new Set(names)].map(encodeText));
        const rows = connection.all(statement, list, sinceMs, untilMs);
        return rows.flatMap(sumsOfRow);
      }),
    recentRuns: (names) =>
      answer("read", () => {
        const rows = connection.all(SELECT_RECENT, JSON.stringify([...new Set(names)].map(encodeText)));
        return rows.map((row) => ({ name: encodedTextIn(row, "name"), runs: unpackRuns(row["recent"]) }));
      }),
    outbox: () => answer("read", () => readOutbox(connection)),
    changeOutbox: (change) => answer("write", () => changeOutbox(connection, change)),
    silences: (nowMs) => answer("read", () => readSilences(connection, nowMs)),
    addSilences: (silences) => answer("write", () => addSilences(connection, silences)),
    endSilences: (checks, nowMs) => answer("write", () => endSilences(connection, checks, nowMs)),
    job: (name, nowMs) => answer("read", () => readJob(connection, name, nowMs)),
    keepJobRun: (name, run, nowMs) => answer("write", () => keepJobRun(connection, name, { run, nowMs })),
    monitorRun: () => answer("read", () => readMonitorRun(connection)),
    keepMonitorRun: (run) => answer("write", () => keepMonitorRun(connection, run)),
    prune: (nowMs) => answer("write", () => pruneSome(nowMs)),
    close: () => {
      connection.close();
      return Promise.resolve();
    },
  };
}

function keep(connection: Connection, { record, rollup, change, queued }: CheckUpdate): void {
  const kept = connection.first(UPSERT_RECORD, ...rowOfRecord(record), packRun(rollup));
  const id = Number(kept?.["id"]);
  if (Number(kept?.["fresh_bytes"]) >= FRESH_BYTES_MAX) {
    for (const statement of MOVE_FRESH_RUNS) connection.run(statement, id);
  }
  if (rollup !== null) keepRollup(connection, id, rollup);
  if (change !== null) keepChange(connection, id, change);
  for (const row of queued) keepOutboxRow(connection, row);
}

function keepRollup(connection: Connection, id: number, entry: RollupEntry): void {
  const perCondition = (wanted: Condition, count: number): readonly number[] =>
    CONDITIONS.map((condition) => condition === wanted ? count : 0);
  connection.run(
    ADD_TO_ROLLUP,
    id,
    startOf(entry.atMs, HOUR_MS),
    ...perCondition(entry.condition, 1),
    ...perCondition(entry.lasted, entry.lastedMs),
    entry.durationMs,
    entry.durationMs,
    entry.failedStreak,
  );
}

function keepChange(connection: Connection, id: number, change: ConditionChange): void {
  const { atMs, from, to, output } = copyChange(change);
  connection.run(INSERT_CHANGE, id, atMs, from, to, encodeText(output));
}

/** The database takes a negative limit for none, and no infinite one. */
function toRowLimit(limit: number): number {
  return Math.min(Math.max(0, Math.floor(limit)), Number.MAX_SAFE_INTEGER);
}
