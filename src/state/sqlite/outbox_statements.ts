/** The statements on the outbox that are more than an upsert of a row. Names and keys are encoded as column text. */
import { DELIVERIES_MAX } from "../retention.ts";
import { ACTIONS, DELIVERIES, OUTBOX, SILENCES } from "../sql/tables.ts";

/** All queued notifications, by sequence. */
export const SELECT_OUTBOX = `SELECT ${OUTBOX.columns} FROM outbox ORDER BY sequence, id`;

export const DELETE_QUEUED = "DELETE FROM outbox WHERE key = ?";

/** Deletes notifications that were dropped before a time, so many at most. */
export const DELETE_DROPPED = `DELETE FROM outbox WHERE id IN (
    SELECT id FROM outbox WHERE state = 'dropped' AND next_attempt_at_ms < ?1
      AND coalesce(first_failed_at_ms, next_attempt_at_ms) < ?1 LIMIT ?2)`;

export const DELETE_MARKER = "DELETE FROM delivery_markers WHERE check_name = ? AND channel_key = ?";

export const LOG_DELIVERY = `${DELIVERIES.insert} ON CONFLICT DO NOTHING`;

/** The logged deliveries from a time to another, of a JSON list of names, or of all with NULL; all, or those with a cause. */
export const SELECT_DELIVERIES =
  `SELECT ${DELIVERIES.columns} FROM deliveries WHERE at_ms >= ?1 AND at_ms <= ?2
  AND (?3 IS NULL OR check_name IN (SELECT value FROM json_each(?3))) AND (?4 = 0 OR cause IS NOT NULL)
  ORDER BY at_ms, key`;

/** Deletes logged deliveries before a time, and those beyond so many of the newest; so many at most. */
export const DELETE_OLD_DELIVERIES = `DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries
    WHERE at_ms < ?1 OR id <= (SELECT max(id) FROM deliveries) - ${DELIVERIES_MAX} LIMIT ?2)`;

/** Forgets the counts of channels that were last counted before a time. */
export const DELETE_OLD_COUNTS = "DELETE FROM channel_counts WHERE counted_at_ms < ?";

/** The silences that end after a time; their index has them in this order. */
export const SELECT_SILENCES =
  `SELECT ${SILENCES.columns} FROM silences WHERE until_ms > ? ORDER BY until_ms, id`;

/** Ends at a time the silences and acknowledgements that are not over then. */
export const END_ALL_SILENCES =
  "UPDATE silences SET until_ms = ?1 WHERE until_ms > ?1 AND kind <> 'maintenance'";

/** Ends at a time those of one check, or with NULL those of all checks at once, that are not over then. */
export const END_SILENCES = `${END_ALL_SILENCES} AND check_name IS ?2`;

/** Forgets silences that ended before a time, so many at most. */
export const DELETE_OLD_SILENCES =
  "DELETE FROM silences WHERE id IN (SELECT id FROM silences WHERE until_ms < ? LIMIT ?)";

/** The actions on a check; their index has them in this order. */
export const SELECT_ACTIONS =
  `SELECT ${ACTIONS.columns} FROM actions WHERE check_name = ? ORDER BY at_ms, id`;

/** Forgets actions before a time, so many at most. */
export const DELETE_OLD_ACTIONS =
  "DELETE FROM actions WHERE id IN (SELECT id FROM actions WHERE at_ms < ? LIMIT ?)";
