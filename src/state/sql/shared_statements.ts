/** The statements that every database has alike. */
import { NOTICE_PREFIX } from "../../domain/outbox.ts";
import { CHANNEL_COUNTS, DELIVERY_MARKERS, SUMMARY } from "./tables.ts";

/** The newest changes of some checks without their traces; `names` is a query. The inner query needs the index alone. */
export function selectLatestChanges(names: string, limit: string): string {
  return `SELECT (SELECT name FROM checks WHERE checks.id = check_id) AS name,
      check_id, at_ms, from_condition, to_condition, output, '' AS trace
    FROM changes WHERE id IN (
      SELECT changes.id FROM changes WHERE check_id IN (SELECT id FROM checks WHERE name IN (${names}))
      ORDER BY at_ms DESC, id DESC LIMIT ${limit})
    ORDER BY at_ms DESC, id DESC`;
}

/** All markers, in the order in which they were first set. */
export const SELECT_MARKERS = `SELECT ${DELIVERY_MARKERS.columns} FROM delivery_markers ORDER BY id`;

/** Deletes the markers of checks that are deleted, but not those of notices about channels. */
export const DELETE_STRAY_MARKERS = `DELETE FROM delivery_markers
  WHERE check_name NOT IN (SELECT name FROM checks)
    AND check_name NOT IN (SELECT '${NOTICE_PREFIX}' || channel_name FROM channel_counts)`;

/** The counts of all channels, in the order in which they were first counted. */
export const SELECT_COUNTS = `SELECT ${CHANNEL_COUNTS.columns} FROM channel_counts ORDER BY id`;

/** The summary that was queued last. */
export const SELECT_SUMMARY = `SELECT ${SUMMARY.columns} FROM summary`;
