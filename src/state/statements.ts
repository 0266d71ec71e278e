/**
 * Every statement on the tables of checks, changes and roll-ups. A name is given as `encodeText` makes it. Wherever
 * there are four of something, they are in the order of `CONDITIONS`.
 */
import { RECENT_BYTES_MAX } from "./recent_runs.ts";
import { DAY_MS, HOUR_MS } from "./retention.ts";

/** All records, in the order in which the checks were first kept. */
export const SELECT_RECORDS =
  `SELECT name, condition, last, next_run_at_ms, interval_ms, missed_runs, seen_at_ms,
    runs_ok, runs_unknown, runs_warning, runs_critical, duration_total_ms
  FROM checks ORDER BY id`;

/**
 * Keeps a record, with a packed run (or nothing) that goes before its fresh ones, and answers its id and how many bytes
 * those take. Nobody reads packed runs while they are written, so they are joined where they are.
 */
export const UPSERT_RECORD = `INSERT INTO checks
    (name, condition, last, next_run_at_ms, interval_ms, missed_runs, seen_at_ms,
    runs_ok, runs_unknown, runs_warning, runs_critical, duration_total_ms, fresh_runs)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET condition = excluded.condition, last = excluded.last,
    next_run_at_ms = excluded.next_run_at_ms, interval_ms = excluded.interval_ms,
    missed_runs = excluded.missed_runs, seen_at_ms = excluded.seen_at_ms,
    runs_ok = excluded.runs_ok, runs_unknown = excluded.runs_unknown, runs_warning = excluded.runs_warning,
    runs_critical = excluded.runs_critical, duration_total_ms = excluded.duration_total_ms,
    fresh_runs = CAST(excluded.fresh_runs || fresh_runs AS BLOB)
  RETURNING id, length(fresh_runs) AS fresh_bytes`;

/** Puts the fresh runs of a check before its others, so that its record stays small. */
export const MOVE_FRESH_RUNS: readonly string[] = [
  `INSERT INTO recent_runs (check_id, runs) SELECT id, fresh_runs FROM checks WHERE id = ?
    ON CONFLICT (check_id) DO UPDATE SET
      runs = substr(CAST(excluded.runs || runs AS BLOB), 1, ${RECENT_BYTES_MAX})`,
  "UPDATE checks SET fresh_runs = x'' WHERE id = ?",
];

/** The packed recent runs of a JSON list of names. */
export const SELECT_RECENT = `SELECT name,
    substr(CAST(fresh_runs || coalesce(runs, x'') AS BLOB), 1, ${RECENT_BYTES_MAX}) AS recent
  FROM json_each(?) AS names CROSS JOIN checks ON checks.name = names.value
  LEFT JOIN recent_runs ON recent_runs.check_id = checks.id
  WHERE fresh_runs <> x'' OR runs IS NOT NULL`;

/** Keeps a change: id of the check, time, from, to, output. */
export const INSERT_CHANGE = `INSERT INTO changes (check_id, at_ms, from_condition, to_condition, output)
  VALUES (?, ?, ?, ?, ?)`;

/** The changes of a name from a time on to another, the newest first: so many at most, behind so many. */
export const SELECT_CHANGES = `SELECT at_ms, from_condition, to_condition, output FROM changes
  WHERE check_id = (SELECT id FROM checks WHERE name = ?) AND at_ms >= ? AND at_ms <= ?
  ORDER BY at_ms DESC, id DESC LIMIT ? OFFSET ?`;

/** The roll-ups of a name that end after a time, the oldest first. */
export const SELECT_ROLLUPS = `SELECT start_ms, span_ms,
    observed_ok, observed_unknown, observed_warning, observed_critical,
    lasted_ok_ms, lasted_unknown_ms, lasted_warning_ms, lasted_critical_ms, duration_total_ms, duration_max_ms,
    failed_streak_max
  FROM rollups WHERE check_id = (SELECT id FROM checks WHERE name = ?) AND start_ms + span_ms > ?
  ORDER BY start_ms, span_ms DESC`;

const START_OF_DAY = `start_ms - (start_ms % ${DAY_MS} + ${DAY_MS}) % ${DAY_MS}`;

// A join from the names on: the planner would read every roll-up there is for `IN (SELECT …)`. No span is longer than
// a day, and the key begins with the start: so only what may end late enough is read.
const ROLLUPS_OF_NAMES = `FROM json_each(?1) AS names CROSS JOIN checks ON checks.name = names.value
  CROSS JOIN rollups ON rollups.check_id = checks.id
  WHERE rollups.start_ms > ?2 - ${DAY_MS} AND rollups.start_ms + rollups.span_ms > ?2 AND rollups.start_ms <= ?3`;

const FAILED = "observed_unknown + observed_warning + observed_critical";
const RUNS = `observed_ok + ${FAILED}`;

const SUMS =
  `sum(${RUNS}) AS runs, sum(${FAILED}) AS failed, max(failed_streak_max) AS failed_streak_max, sum(lasted_ok_ms) AS lasted_ok_ms, sum(lasted_unknown_ms) AS lasted_unknown_ms,
    sum(lasted_warning_ms) AS lasted_warning_ms, sum(lasted_critical_ms) AS lasted_critical_ms,
    sum(rollups.duration_total_ms) AS duration_total_ms`;

const PACKED =
  `json_group_array(json_array(start_ms, runs, failed, failed_streak_max, lasted_ok_ms, lasted_unknown_ms, lasted_warning_ms,
    lasted_critical_ms, duration_total_ms)) AS sums`;

/**
 * The roll-ups of a JSON list of names that end after a time and do not begin after another, as one row a check: its name, and a JSON list of lists of
 * start, runs, failed ones, the longest streak of those, four times and duration. Roll-ups of days as they are, those of hours added up to days, in no order; that
 * takes half the time of a row for each, and of adding up what needs none.
 */
export const SELECT_DAY_SUMS = `SELECT name, ${PACKED} FROM (
    SELECT checks.id AS id, checks.name AS name, start_ms, ${RUNS} AS runs,
      ${FAILED} AS failed, failed_streak_max, lasted_ok_ms, lasted_unknown_ms, lasted_warning_ms, lasted_critical_ms, rollups.duration_total_ms
    ${ROLLUPS_OF_NAMES} AND span_ms = ${DAY_MS}
    UNION ALL
    SELECT checks.id AS id, checks.name AS name, ${START_OF_DAY} AS start_ms, ${SUMS}
    ${ROLLUPS_OF_NAMES} AND span_ms = ${HOUR_MS} GROUP BY checks.id, ${START_OF_DAY}
  ) GROUP BY id`;

/** The same, each check with a list of one sum. */
export const SELECT_CHECK_SUMS = `SELECT name, ${PACKED} FROM (
    SELECT checks.id AS id, checks.name AS name, min(start_ms) AS start_ms, ${SUMS} ${ROLLUPS_OF_NAMES} GROUP BY checks.id
  ) GROUP BY id`;

const INSERT_ROLLUP = `INSERT INTO rollups (check_id, start_ms, span_ms,
    observed_ok, observed_unknown, observed_warning, observed_critical,
    lasted_ok_ms, lasted_unknown_ms, lasted_warning_ms, lasted_critical_ms, duration_total_ms, duration_max_ms,
    failed_streak_max)`;

const ON_CONFLICT_ADD = `ON CONFLICT (check_id, start_ms, span_ms) DO UPDATE SET
    observed_ok = observed_ok + excluded.observed_ok,
    observed_unknown = observed_unknown + excluded.observed_unknown,
    observed_warning = observed_warning + excluded.observed_warning,
    observed_critical = observed_critical + excluded.observed_critical,
    lasted_ok_ms = lasted_ok_ms + excluded.lasted_ok_ms,
    lasted_unknown_ms = lasted_unknown_ms + excluded.lasted_unknown_ms,
    lasted_warning_ms = lasted_warning_ms + excluded.lasted_warning_ms,
    lasted_critical_ms = lasted_critical_ms + excluded.lasted_critical_ms,
    duration_total_ms = duration_total_ms + excluded.duration_total_ms,
    duration_max_ms = max(duration_max_ms, excluded.duration_max_ms),
    failed_streak_max = max(failed_streak_max, excluded.failed_streak_max)`;

/**
 * Adds a run to the roll-up of its hour: id of the check, start of the hour, the four counts, the four times, the
 * duration twice, the streak.
 */
export const ADD_TO_ROLLUP =
  `${INSERT_ROLLUP} VALUES (?, ?, ${HOUR_MS}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ${ON_CONFLICT_ADD}`;

/** Adds a check's hourly roll-ups that began before a time to those of their days. */
export const ADD_HOURS_TO_DAYS = `${INSERT_ROLLUP}
  SELECT check_id, ${START_OF_DAY} AS day_ms, ${DAY_MS},
    sum(observed_ok), sum(observed_unknown), sum(observed_warning), sum(observed_critical),
    sum(lasted_ok_ms), sum(lasted_unknown_ms), sum(lasted_warning_ms), sum(lasted_critical_ms),
    sum(duration_total_ms), max(duration_max_ms), max(failed_streak_max)
  FROM rollups WHERE check_id = ? AND start_ms < ? AND span_ms = ${HOUR_MS} GROUP BY day_ms ${ON_CONFLICT_ADD}`;

/** Forgets what was added: the same check and time. */
export const DELETE_ADDED_HOURS =
  `DELETE FROM rollups WHERE check_id = ? AND start_ms < ? AND span_ms = ${HOUR_MS}`;

/** Forgets a check's roll-ups that ended before a time. */
export const DELETE_OLD_ROLLUPS = "DELETE FROM rollups WHERE check_id = ? AND start_ms + span_ms < ?";

/** Forgets a check's changes before a time. */
export const DELETE_OLD_CHANGES = "DELETE FROM changes WHERE check_id = ? AND at_ms < ?";

/** Forgets a check's changes beyond so many of the newest. */
export const DELETE_SURPLUS_CHANGES = `DELETE FROM changes WHERE id IN (
    SELECT id FROM changes WHERE check_id = ? ORDER BY at_ms DESC, id DESC LIMIT -1 OFFSET ?)`;

/** What forgets a check and all that is kept of it, in this order. */
export const DELETE_CHECK: readonly string[] = [
  "DELETE FROM changes WHERE check_id = ?",
  "DELETE FROM rollups WHERE check_id = ?",
  "DELETE FROM recent_runs WHERE check_id = ?",
  "DELETE FROM checks WHERE id = ?",
];

/** The checks behind an id, so many at most: their ids, their names and when they were seen. */
export const SELECT_CHECKS_BEHIND =
  "SELECT id, name, seen_at_ms FROM checks WHERE id > ? ORDER BY id LIMIT ?";

/** The two readings of the clock that deletions go by. */
export const SELECT_CLOCK = "SELECT earlier_ms, later_ms FROM clock WHERE id = 1";

/** Keeps other readings: the earlier one, the later one. */
export const REPLACE_CLOCK = "INSERT OR REPLACE INTO clock (id, earlier_ms, later_ms) VALUES (1, ?, ?)";
