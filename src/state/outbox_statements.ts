/**
 * Every statement on the tables of the outbox, of what channels were told, and of silences. Text but a `state`, a
 * `condition` and a `notification` is given as `encodeText` makes it.
 */

/** All rows, by sequence. */
export const SELECT_OUTBOX = `SELECT key, notification, channel_key, channel_name, sequence, state, attempts,
    next_attempt_at_ms, last_failure, first_failed_at_ms, message_id, missed_problem, summarized
  FROM outbox ORDER BY sequence, id`;

/** Keeps a row. */
export const UPSERT_OUTBOX_ROW =
  `INSERT INTO outbox (key, notification, channel_key, channel_name, sequence, state,
    attempts, next_attempt_at_ms, last_failure, first_failed_at_ms, message_id, missed_problem, summarized)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (key) DO UPDATE SET notification = excluded.notification, channel_key = excluded.channel_key,
    channel_name = excluded.channel_name, sequence = excluded.sequence, state = excluded.state,
    attempts = excluded.attempts, next_attempt_at_ms = excluded.next_attempt_at_ms,
    last_failure = excluded.last_failure, first_failed_at_ms = excluded.first_failed_at_ms,
    message_id = excluded.message_id, missed_problem = excluded.missed_problem,
    summarized = excluded.summarized`;

/** Removes the row of a key. */
export const DELETE_OUTBOX_ROW = "DELETE FROM outbox WHERE key = ?";

/** Forgets rows that were given up before a time, so many at most. */
export const DELETE_GIVEN_UP = `DELETE FROM outbox WHERE id IN (
    SELECT id FROM outbox WHERE state = 'dropped' AND next_attempt_at_ms < ?1
      AND coalesce(first_failed_at_ms, next_attempt_at_ms) < ?1 LIMIT ?2)`;

/** All that channels were told, in the order in which they first were. */
export const SELECT_TOLD =
  "SELECT check_name, channel_key, message_id, condition, certain FROM told ORDER BY id";

/** Keeps what a channel was told of a check. */
export const UPSERT_TOLD =
  `INSERT INTO told (check_name, channel_key, message_id, condition, certain) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (check_name, channel_key) DO UPDATE SET message_id = excluded.message_id,
    condition = excluded.condition, certain = excluded.certain`;

/** Removes what a channel was told of a check. */
export const DELETE_TOLD = "DELETE FROM told WHERE check_name = ? AND channel_key = ?";

/** Forgets what was told of checks that are forgotten. */
export const DELETE_TOLD_OF_NOTHING = "DELETE FROM told WHERE check_name NOT IN (SELECT name FROM checks)";

/** The counts of all channels, in the order in which they were first counted. */
export const SELECT_COUNTS =
  "SELECT key, name, sent, failed_attempts, dropped, summarized, counted_at_ms FROM channels ORDER BY id";

/** Adds to the counts of a channel: key, name, the four numbers, time. */
export const ADD_TO_COUNTS =
  `INSERT INTO channels (key, name, sent, failed_attempts, dropped, summarized, counted_at_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (key) DO UPDATE SET name = excluded.name, sent = sent + excluded.sent,
    failed_attempts = failed_attempts + excluded.failed_attempts, dropped = dropped + excluded.dropped,
    summarized = summarized + excluded.summarized,
    counted_at_ms = max(counted_at_ms, excluded.counted_at_ms)`;

/** Forgets the counts of channels that were last counted before a time. */
export const DELETE_OLD_COUNTS = "DELETE FROM channels WHERE counted_at_ms < ?";

/** The silences that end after a time; their index has them in this order. */
export const SELECT_SILENCES =
  "SELECT key, check_name, from_ms, until_ms, reason FROM silences WHERE until_ms > ? ORDER BY until_ms, id";

/** Keeps a silence. */
export const UPSERT_SILENCE = `INSERT INTO silences (key, check_name, from_ms, until_ms, reason)
  VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (key) DO UPDATE SET check_name = excluded.check_name, from_ms = excluded.from_ms,
    until_ms = excluded.until_ms, reason = excluded.reason`;

/** Ends at a time the silences that are not over then. */
export const END_ALL_SILENCES = "UPDATE silences SET until_ms = ?1 WHERE until_ms > ?1";

/** Ends at a time those of one check, or with NULL those of all checks at once, that are not over then. */
export const END_SILENCES = `${END_ALL_SILENCES} AND check_name IS ?2`;

/** Forgets silences that ended before a time, so many at most. */
export const DELETE_OLD_SILENCES =
  "DELETE FROM silences WHERE id IN (SELECT id FROM silences WHERE until_ms < ? LIMIT ?)";
