import type { PruneProgress } from "../../domain/store.ts";
import type { SqliteConnection } from "./sqlite_connection.ts";
import { columnText, number } from "../codec.ts";
import { addReading, CHANGES_MAX, type ClockReadings, limitsAt, type RetentionLimits } from "../retention.ts";
import { DELETE_OLD_JOB_RUNS, DELETE_OLD_JOBS } from "./job_statements.ts";
import { DELETE_DROPPED, DELETE_OLD_COUNTS, DELETE_OLD_SILENCES } from "./outbox_statements.ts";
import {
  ADD_HOURS_TO_DAYS,
  DELETE_ADDED_HOURS,
  DELETE_CHECK,
  DELETE_OLD_CHANGES,
  DELETE_OLD_ROLLUPS,
  DELETE_SURPLUS_CHANGES,
  SELECT_CHECKS_BEHIND,
  SELECT_CLOCK,
} from "./statements.ts";
import { DELETE_STRAY_MARKERS } from "../sql/shared_statements.ts";
import { CLOCK, ONLY_ROW } from "../sql/tables.ts";

/**
 * Returns a function that deletes old data of a few checks at a time, in a cycle over their ids. One call is one
 * transaction of some milliseconds: it ends after so many checks, or earlier once it has changed so many rows.
 */
export function createPruner(connection: SqliteConnection): (nowMs: number) => PruneProgress {
  let lastId = 0;
  return (nowMs) => {
    const forgotten: string[] = [];
    const end = connection.transaction(() => {
      const limits = limitsAt(readClock(connection, nowMs).earlierMs);
      const rows = pruneOutbox(connection, limits);
      return rows >= ROWS_MAX ? lastId : pruneBehind(connection, lastId, { limits, rows, forgotten });
    });
    lastId = end ?? 0;
    return { finished: end === null && shrink(connection), forgotten };
  };
}

function readClock(connection: SqliteConnection, nowMs: number): ClockReadings {
  const row = connection.first(SELECT_CLOCK);
  const before = row === undefined ? null : CLOCK.decode(row);
  const readings = addReading(before, nowMs);
  if (readings !== before) connection.run(CLOCK.upsert, ...CLOCK.encode({ ...readings, id: ONLY_ROW }));
  return readings;
}

/** The number of checks that one call examines. */
const CHECKS_MAX = 200;

/** After how many changed rows a call ends. */
const ROWS_MAX = 1000;

/** The number of free pages that stay for later writes: a megabyte. */
const FREE_PAGES_MAX = 256;

const FREE_PAGES = "PRAGMA freelist_count";

/** How many pages one call gives back. */
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

/** Returns how many rows went; each statement finds its own by an index, and there are few. */
function pruneOutbox(connection: SqliteConnection, limits: RetentionLimits): number {
  return connection.run(DELETE_DROPPED, limits.droppedMs, ROWS_MAX) +
    connection.run(DELETE_OLD_SILENCES, limits.silenceEndMs, ROWS_MAX) +
    connection.run(DELETE_OLD_COUNTS, limits.countedMs);
}

/** Returns the id of the last examined check; `null` if it was the last one of all. */
function pruneBehind(
  connection: SqliteConnection,
  id: number,
  { limits, rows: rowsBefore, forgotten }: {
    readonly limits: RetentionLimits;
    readonly rows: number;
    readonly forgotten: string[];
  },
): number | null {
  let rows = rowsBefore;
  const checks = connection.all(SELECT_CHECKS_BEHIND, id, CHECKS_MAX);
  for (const check of checks) {
    const checkId = Number(check["id"]);
    const isForgotten = Number(check["seen_at_ms"]) < limits.seenMs;
    rows += isForgotten ? forget(connection, checkId) : pruneCheck(connection, checkId, limits);
    if (isForgotten) forgotten.push(columnText.decode(check["name"], "name"));
    if (rows >= ROWS_MAX) return checkId;
  }
  if (checks.length === CHECKS_MAX) return Number(checks.at(-1)?.["id"]);
  connection.run(DELETE_STRAY_MARKERS);
  connection.run(DELETE_OLD_JOB_RUNS, limits.seenMs);
  connection.run(DELETE_OLD_JOBS, limits.seenMs);
  return null;
}

function forget(connection: SqliteConnection, id: number): number {
  return DELETE_CHECK.reduce((rows, statement) => rows + connection.run(statement, id), 0);
}

function pruneCheck(connection: SqliteConnection, id: number, limits: RetentionLimits): number {
  return connection.run(DELETE_OLD_CHANGES, id, limits.changeMs) +
    connection.run(DELETE_SURPLUS_CHANGES, id, CHANGES_MAX) +
    connection.run(DELETE_OLD_ROLLUPS, id, limits.rollupEndMs) +
    connection.run(ADD_HOURS_TO_DAYS, id, limits.dailyMs) +
    connection.run(DELETE_ADDED_HOURS, id, limits.dailyMs);
}
