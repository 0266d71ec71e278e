import { type PruneProgress, type Store, StoreError } from "../../domain/store.ts";
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
  START_OF_DAY,
} from "./sqlite_checks.ts";
import {
  createJobStore,
  createOutboxStore,
  deleteStrays,
  oldRows,
  readClock,
} from "../sql/outbox_and_jobs.ts";
import { columnText, number } from "../codec.ts";
import type { Dialect, Work } from "../sql/rows.ts";
import { limitsAt, type RetentionLimits } from "../retention.ts";

/** The store of a database that is open and up to date, which it closes. The path is for error messages. */
export function createDatabaseStore(connection: SqliteConnection, path: string, patience?: Patience): Store {
  const pruneSome = createPruner(connection);
  const access = createAccess(connection, path, patience);
  return {
    ...createCheckStore(connection, access),
    ...createOutboxStore(access),
    ...createJobStore(access),
    ...createReportStore(connection, access),
    prune: (nowMs, journalMs) => access.write(() => pruneSome(nowMs, journalMs)),
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
  const access: Access = {
    ...WORDS,
    select: (sql, parameters, read) =>
      attempt("read", () => connection.all(sql, ...parameters).map((row) => read(row))),
    transact: (action, work) =>
      access[action](() =>
        connection.transaction(() => drive(connection, work()), action === "read" ? "DEFERRED" : "IMMEDIATE")
      ),
    read: (work) => attempt("read", work),
    write: (work) => {
      const turn = writing.then(() => attempt("write", work));
      writing = turn.catch(() => {});
      return turn;
    },
  };
  return access;
}

const WORDS: Omit<Dialect, "select" | "transact"> = {
  parameter: (place) => `?${place}`,
  namesIn: (place) => `SELECT value FROM json_each(?${place})`,
  listOf: JSON.stringify,
  // The planner would read every roll-up for `IN (SELECT …)`.
  checksIn: (place) => `json_each(?${place}) AS names CROSS JOIN checks ON checks.name = names.value`,
  join: "CROSS JOIN",
  bytes: "BLOB",
  startOfDay: START_OF_DAY,
  packed: (columns) => `json_group_array(json_array(${columns}))`,
  upserts: (table, rows, returning = "") => rows.map((row) => [table.upsert + returning, table.encode(row)]),
  additions: (table, rows, returning = "") =>
    rows.map((row) => [`${table.insert} ON CONFLICT DO NOTHING${returning}`, table.encode(row)]),
  *all({ table, columns }) {
    return yield [`SELECT ${columns} FROM ${table} ORDER BY id`, []];
  },
};

function drive<T>(connection: SqliteConnection, work: Work<T>): T {
  let step = work.next();
  while (!step.done) {
    const [sql, parameters] = step.value;
    step = work.next(connection.all(sql, ...parameters));
  }
  return step.value;
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
      const limits = limitsAt(drive(connection, readClock(WORDS, nowMs)), journalMs);
      let rows = pruneOutbox(connection, limits);
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
      for (const [sql, parameters] of deleteStrays(WORDS, limits)) connection.run(sql, ...parameters);
      return null;
    });
    lastId = end ?? 0;
    return { finished: end === null && shrink(connection), forgotten };
  };
}

/** Returns how many rows went; each statement finds its own by an index, and deletes so many at most. */
function pruneOutbox(connection: SqliteConnection, limits: RetentionLimits): number {
  return oldRows(WORDS, limits).reduce((sum, [table, condition, limitMs]) => {
    const sql = `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE ${condition} LIMIT ?2)`;
    return sum + connection.run(sql, limitMs, ROWS_MAX);
  }, 0);
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
