/** The statements on checks that are more than an upsert of a row. Names are encoded as column text. */
import { RECENT_BYTES_MAX, SUMMED, SUMMED_NAMES, SUMS } from "../sql/rows.ts";
import type { SumSpan } from "../../domain/store.ts";
import { DAY_MS, HOUR_MS } from "../../shared/time_units.ts";
import { CHANGES, CHECK_TABLES, CHECKS, CLOCK, RECORDS, ROLLUPS } from "../sql/tables.ts";

/** All records, in the order in which the checks were first persisted. */
export const SELECT_RECORDS = `SELECT ${RECORDS.columns} FROM checks ORDER BY id`;

/** Upserts a check, its packed run joined to the fresh ones in place, and returns its id and how many bytes these take. */
export const UPSERT_CHECK = `${CHECKS.upsert} RETURNING id, length(fresh_runs) AS fresh_bytes`;

/** Puts the fresh runs of a check before its others, so that its record stays small. */
export const MOVE_FRESH_RUNS: readonly string[] = [
  `INSERT INTO recent_runs (check_id, runs) SELECT id, fresh_runs FROM checks WHERE id = ?
    ON CONFLICT (check_id) DO UPDATE SET
      runs = substr(CAST(excluded.runs || runs AS BLOB), 1, ${RECENT_BYTES_MAX})`,
  "UPDATE checks SET fresh_runs = x'' WHERE id = ?",
];

export const SELECT_RECENT = `SELECT name,
    substr(CAST(fresh_runs || coalesce(runs, x'') AS BLOB), 1, ${RECENT_BYTES_MAX}) AS recent
  FROM json_each(?) AS names CROSS JOIN checks ON checks.name = names.value
  LEFT JOIN recent_runs ON recent_runs.check_id = checks.id
  WHERE fresh_runs <> x'' OR runs IS NOT NULL`;

/** The blocks of journals of a JSON list of names from a time on, in order, each with the record; without any, only that. */
export const SELECT_JOURNAL = `SELECT name, results, checks.journal AS record
  FROM json_each(?1) AS names CROSS JOIN checks ON checks.name = names.value
  LEFT JOIN journal ON journal.check_id = checks.id AND last_ms >= ?2
  WHERE checks.journal IS NOT NULL ORDER BY checks.id, last_ms`;

/** The changes of a name from a time on to another, the newest first: so many at most, behind so many. */
export const SELECT_CHANGES = `SELECT ${CHANGES.columns} FROM changes
  WHERE check_id = (SELECT id FROM checks WHERE name = ?) AND at_ms >= ? AND at_ms <= ?
  ORDER BY at_ms DESC, id DESC LIMIT ? OFFSET ?`;

/** The roll-ups of a name that end after a time, the oldest first. */
export const SELECT_ROLLUPS = `SELECT ${ROLLUPS.columns}
  FROM rollups WHERE check_id = (SELECT id FROM checks WHERE name = ?) AND start_ms + span_ms > ?
  ORDER BY start_ms, span_ms DESC`;

const START_OF_DAY = `start_ms - (start_ms % ${DAY_MS} + ${DAY_MS}) % ${DAY_MS}`;

// A join from the names on: the planner would read every roll-up for `IN (SELECT …)`. No span is longer than a day,
// and the key begins with the start: so only rows that may end late enough are read.
const ROLLUPS_OF_NAMES = `FROM json_each(?1) AS names CROSS JOIN checks ON checks.name = names.value
  CROSS JOIN rollups ON rollups.check_id = checks.id
  WHERE rollups.start_ms > ?2 - ${DAY_MS} AND rollups.start_ms + rollups.span_ms > ?2 AND rollups.start_ms <= ?3`;

const AS_THEY_ARE = `SELECT checks.id AS id, checks.name AS name, start_ms,
    ${SUMMED.map(([name, , value]) => `${value} AS ${name}`).join(", ")} ${ROLLUPS_OF_NAMES}`;

const HOURS = `${AS_THEY_ARE} AND span_ms = ${HOUR_MS}`;

const DAYS = `${AS_THEY_ARE} AND span_ms = ${DAY_MS}
  UNION ALL SELECT checks.id AS id, checks.name AS name, ${START_OF_DAY} AS start_ms, ${SUMS}
    ${ROLLUPS_OF_NAMES} AND span_ms = ${HOUR_MS} GROUP BY checks.id, ${START_OF_DAY}`;

const ALL = `SELECT checks.id AS id, checks.name AS name, min(start_ms) AS start_ms, ${SUMS}
  ${ROLLUPS_OF_NAMES} GROUP BY checks.id`;

function packed(rollups: string): string {
  return `SELECT name, json_group_array(json_array(start_ms, ${SUMMED_NAMES})) AS sums FROM (${rollups}) GROUP BY id`;
}

/**
 * The roll-ups of a JSON list of names that end after a time and do not begin after another, as one row a check: its
 * name, and a JSON list of lists of start, runs, failed ones, the longest streak of those, and the sums that `sumsOf` reads.
 * Roll-ups of days as they are, those of hours added up to days, in no order; that takes half the time of a row for
 * each, and of adding up days again. Or one sum a check, or the roll-ups of hours alone.
 */
export const SELECT_SUMS: Readonly<Record<SumSpan, string>> = {
  hour: packed(HOURS),
  day: packed(DAYS),
  check: packed(ALL),
};

/** The measured values of a JSON list of names in the hours that end after a time and do not begin after another. */
export const SELECT_METRICS = `SELECT checks.name AS name, start_ms, metrics ${ROLLUPS_OF_NAMES}
  AND span_ms = ${HOUR_MS} AND metrics IS NOT NULL`;

/** Adds a check's hourly roll-ups that began before a time to those of their days. */
export const ADD_HOURS_TO_DAYS = `INSERT INTO rollups (${ROLLUPS.columns})
  SELECT check_id, ${START_OF_DAY} AS day_ms, ${DAY_MS}, ${ROLLUPS.aggregates}
  FROM rollups WHERE check_id = ? AND start_ms < ? AND span_ms = ${HOUR_MS} GROUP BY day_ms ${ROLLUPS.onConflict}`;

/** Deletes the aggregated rows: the same check and time. */
export const DELETE_ADDED_HOURS =
  `DELETE FROM rollups WHERE check_id = ? AND start_ms < ? AND span_ms = ${HOUR_MS}`;

export const DELETE_OLD_ROLLUPS = "DELETE FROM rollups WHERE check_id = ? AND start_ms + span_ms < ?";

export const DELETE_OLD_CHANGES = "DELETE FROM changes WHERE check_id = ? AND at_ms < ?";

/** Forgets a check's changes beyond so many of the newest. */
export const DELETE_SURPLUS_CHANGES = `DELETE FROM changes WHERE id IN (
    SELECT id FROM changes WHERE check_id = ? ORDER BY at_ms DESC, id DESC LIMIT -1 OFFSET ?)`;

export const DELETE_OLD_JOURNAL = "DELETE FROM journal WHERE check_id = ? AND last_ms < ?";

/** Forgets the blocks of a check's journal beyond so many of the newest. */
export const DELETE_SURPLUS_JOURNAL = `DELETE FROM journal WHERE check_id = ?1 AND last_ms <=
  (SELECT last_ms FROM journal WHERE check_id = ?1 ORDER BY last_ms DESC LIMIT 1 OFFSET ?2)`;

/** Deletes a check and all its data, in this order. */
export const DELETE_CHECK: readonly string[] = [
  ...CHECK_TABLES.map((table) => `DELETE FROM ${table} WHERE check_id = ?`),
  "DELETE FROM checks WHERE id = ?",
];

/** The checks behind an id, so many at most: their ids, their names and when they were seen. */
export const SELECT_CHECKS_BEHIND =
  "SELECT id, name, seen_at_ms FROM checks WHERE id > ? ORDER BY id LIMIT ?";

export const SELECT_CLOCK = `SELECT ${CLOCK.columns} FROM clock`;
