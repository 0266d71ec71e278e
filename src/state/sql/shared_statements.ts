/** The statements that every database has alike. */
import { CHANNEL_COUNTS, DELIVERY_MARKERS, SUMMARY } from "./tables.ts";

/** All markers, in the order in which they were first set. */
export const SELECT_MARKERS = `SELECT ${DELIVERY_MARKERS.columns} FROM delivery_markers ORDER BY id`;

/** Deletes the markers of checks that are deleted. */
export const DELETE_STRAY_MARKERS =
  "DELETE FROM delivery_markers WHERE check_name NOT IN (SELECT name FROM checks)";

/** The counts of all channels, in the order in which they were first counted. */
export const SELECT_COUNTS = `SELECT ${CHANNEL_COUNTS.columns} FROM channel_counts ORDER BY id`;

/** The summary that was queued last. */
export const SELECT_SUMMARY = `SELECT ${SUMMARY.columns} FROM summary`;
