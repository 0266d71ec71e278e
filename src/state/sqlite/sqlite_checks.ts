/** Checks, their changes and roll-ups in the database: each function returns at once, or throws. */
import type {
  CheckRecord,
  CheckUpdate,
  ConditionChange,
  RecentRuns,
  Rollup,
  RollupSum,
  Store,
  SumSpan,
} from "../../domain/store.ts";
import { columnText } from "../codec.ts";
import type { SqliteConnection } from "./sqlite_connection.ts";
import { keepQueued } from "./sqlite_outbox.ts";
import { cutChange } from "../retention.ts";
import {
  changeIn,
  FRESH_BYTES_MAX,
  nameIn,
  packRun,
  rollupsOf,
  sumsOf,
  toRowLimit,
  unpackRuns,
} from "../sql/rows.ts";
import { selectLatestChanges } from "../sql/shared_statements.ts";
import {
  MOVE_FRESH_RUNS,
  SELECT_CHANGES,
  SELECT_CHECK_SUMS,
  SELECT_DAY_SUMS,
  SELECT_HOUR_SUMS,
  SELECT_RECENT,
  SELECT_RECORDS,
  SELECT_ROLLUPS,
  UPSERT_CHECK,
} from "./statements.ts";
import { CHANGES, CHECKS, RECORDS, ROLLUPS } from "../sql/tables.ts";

/** Persists an update, as part of the open transaction. */
export function keepUpdate(
  connection: SqliteConnection,
  { record, rollup, change, queued }: CheckUpdate,
): void {
  const check = { ...record, freshRuns: packRun(rollup) };
  const kept = connection.first(UPSERT_CHECK, ...CHECKS.encode(check));
  const id = Number(kept?.["id"]);
  if (Number(kept?.["fresh_bytes"]) >= FRESH_BYTES_MAX) {
    for (const statement of MOVE_FRESH_RUNS) connection.run(statement, id);
  }
  if (rollup !== null) {
    for (const one of rollupsOf(rollup)) {
      connection.run(ROLLUPS.upsert, ...ROLLUPS.encode({ ...one, checkId: id }));
    }
  }
  if (change !== null) {
    connection.run(CHANGES.insert, ...CHANGES.encode({ ...cutChange(change), checkId: id }));
  }
  for (const notification of queued) keepQueued(connection, notification);
}

/** Implements `records()` of the store. */
export function readRecords(connection: SqliteConnection): readonly CheckRecord[] {
  return connection.all(SELECT_RECORDS).map(RECORDS.decode);
}

/** Implements `changes()` of the store. */
export function readChanges(
  connection: SqliteConnection,
  name: string,
  { sinceMs, limit, from = { atMs: Infinity, skip: 0 } }: Parameters<Store["changes"]>[1],
): readonly ConditionChange[] {
  const values = [columnText.encode(name), sinceMs, from.atMs, toRowLimit(limit), from.skip];
  return connection.all(SELECT_CHANGES, ...values).map((row) => {
    const { checkId: _, ...change } = CHANGES.decode(row);
    return { name, ...change };
  });
}

const SELECT_LATEST_CHANGES = selectLatestChanges("SELECT value FROM json_each(?)", "?");

/** Implements `latestChanges()` of the store. */
export function readLatestChanges(
  connection: SqliteConnection,
  names: readonly string[],
  limit: number,
): readonly ConditionChange[] {
  return connection.all(SELECT_LATEST_CHANGES, toNames(names), toRowLimit(limit)).map(changeIn);
}

/** Implements `rollups()` of the store. */
export function readRollups(connection: SqliteConnection, name: string, sinceMs: number): readonly Rollup[] {
  return connection.all(SELECT_ROLLUPS, columnText.encode(name), sinceMs).map((row) => {
    const { checkId: _, ...rollup } = ROLLUPS.decode(row);
    return { name, ...rollup };
  });
}

/** Implements `rollupSums()` of the store. */
export function readRollupSums(
  connection: SqliteConnection,
  names: readonly string[],
  { sinceMs, untilMs, each }: Parameters<Store["rollupSums"]>[1],
): readonly RollupSum[] {
  return connection.all(SELECT_SUMS[each], toNames(names), sinceMs, untilMs).flatMap(sumsOf);
}

const SELECT_SUMS: Readonly<Record<SumSpan, string>> = {
  hour: SELECT_HOUR_SUMS,
  day: SELECT_DAY_SUMS,
  check: SELECT_CHECK_SUMS,
};

/** Implements `recentRuns()` of the store. */
export function readRecentRuns(
  connection: SqliteConnection,
  names: readonly string[],
): readonly RecentRuns[] {
  return connection.all(SELECT_RECENT, toNames(names))
    .map((row) => ({ name: nameIn(row), runs: unpackRuns(row["recent"]) }));
}

/** A JSON list of names, each once. */
function toNames(names: readonly string[]): string {
  return JSON.stringify([...new Set(names)].map(columnText.encode));
}
