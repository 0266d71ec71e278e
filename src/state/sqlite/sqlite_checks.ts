/** Checks, their changes and roll-ups in the database: each function returns at once, or throws. */
import type { Condition } from "../../domain/condition.ts";
import type { ConditionCounts } from "../../domain/condition_state.ts";
import type {
  CheckRecord,
  CheckUpdate,
  ConditionChange,
  RecentRuns,
  Rollup,
  RollupEntry,
  RollupSum,
  Store,
  SumSpan,
} from "../../domain/store.ts";
import { columnText, json, list, number } from "../codec.ts";
import type { Row, SqliteConnection } from "./sqlite_connection.ts";
import { keepQueued } from "./sqlite_outbox.ts";
import { FRESH_BYTES_MAX, packRun, unpackRuns } from "../recent_runs.ts";
import { HOUR_MS } from "../../shared/time_units.ts";
import { cutChange, startOf } from "../retention.ts";
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
import { CHANGES, CHECKS, RECORDS, ROLLUPS } from "../tables.ts";

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
    connection.run(ROLLUPS.upsert, ...ROLLUPS.encode({ ...rollupOf(rollup), checkId: id }));
  }
  if (change !== null) {
    connection.run(CHANGES.insert, ...CHANGES.encode({ ...cutChange(change), checkId: id }));
  }
  for (const notification of queued) keepQueued(connection, notification);
}

/** The roll-up of one run. */
export function rollupOf(entry: RollupEntry): Omit<Rollup, "name"> {
  return {
    startMs: startOf(entry.atMs, HOUR_MS),
    spanMs: HOUR_MS,
    observed: only(entry.condition, 1),
    lastedMs: only(entry.lasted, entry.lastedMs),
    durationTotalMs: entry.durationMs,
    durationMaxMs: entry.durationMs,
    failedStreakMax: entry.failedStreak,
  };
}

function only(condition: Condition, count: number): ConditionCounts {
  return { ok: 0, unknown: 0, warning: 0, critical: 0, [condition]: count };
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

/** A database treats a negative limit as none, and accepts no infinite one. */
export function toRowLimit(limit: number): number {
  return Math.min(Math.max(0, Math.floor(limit)), Number.MAX_SAFE_INTEGER);
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

export function nameIn(row: Row): string {
  return columnText.decode(row["name"], "name");
}

/** A list of start, runs, failed runs, longest streak of these, four times and duration for each roll-up. */
const PACKED_SUMS = json(list(list(number)));

/** Returns the sums in a row of a name and its packed sums, the oldest first; those that begin together are added. */
export function sumsOf(row: Row): readonly RollupSum[] {
  const name = nameIn(row);
  const sums = new Map<number, RollupSum>();
  for (const values of PACKED_SUMS.decode(row["sums"], "sums")) {
    const [startMs = 0, runs = 0, failedRuns = 0, failedStreakMax = 0, ...times] = values;
    const [ok = 0, unknown = 0, warning = 0, critical = 0, durationTotalMs = 0] = times;
    const before = sums.get(startMs);
    sums.set(startMs, {
      name,
      startMs,
      runs: runs + (before?.runs ?? 0),
      failedRuns: failedRuns + (before?.failedRuns ?? 0),
      failedStreakMax: Math.max(failedStreakMax, before?.failedStreakMax ?? 0),
      lastedMs: {
        ok: ok + (before?.lastedMs.ok ?? 0),
        unknown: unknown + (before?.lastedMs.unknown ?? 0),
        warning: warning + (before?.lastedMs.warning ?? 0),
        critical: critical + (before?.lastedMs.critical ?? 0),
      },
      durationTotalMs: durationTotalMs + (before?.durationTotalMs ?? 0),
    });
  }
  return [...sums.values()].sort((one, other) => one.startMs - other.startMs);
}
