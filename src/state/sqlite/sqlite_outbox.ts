/** The outbox, its summary and silences in the database. */
import type { LoggedDelivery, QueuedNotification } from "../../domain/outbox.ts";
import type { OutboxStore } from "../../domain/store.ts";
import type { Table } from "../sql/table_declaration.ts";
import type { Access, SqliteConnection } from "./sqlite_connection.ts";
import { columnText, nullable } from "../codec.ts";
import { createOutboxReads, SELECT_COUNTS, SELECT_MARKERS, SELECT_SUMMARY } from "../sql/rows.ts";
import {
  ACTIONS,
  CHANNEL_COUNTS,
  DELIVERIES,
  DELIVERY_MARKERS,
  OUTBOX,
  SILENCES,
  SUMMARY,
} from "../sql/tables.ts";
import { DELIVERIES_MAX, type RetentionLimits } from "../retention.ts";

/** Keeps a row, as part of whatever transaction is open. */
export function keepQueued(connection: SqliteConnection, row: QueuedNotification): void {
  connection.run(OUTBOX.upsert, ...OUTBOX.encode(row));
}

export function logDelivery(connection: SqliteConnection, row: LoggedDelivery): void {
  connection.run(LOG_DELIVERY, ...DELIVERIES.encode(row));
}

export function createOutboxStore(
  connection: SqliteConnection,
  { read, write, ...dialect }: Access,
): OutboxStore {
  return {
    ...createOutboxReads(dialect),
    outbox: () =>
      read(() =>
        connection.transaction(() => ({
          notifications: connection.all(SELECT_OUTBOX).map(OUTBOX.decode),
          markers: connection.all(SELECT_MARKERS).map(DELIVERY_MARKERS.decode),
          counts: connection.all(SELECT_COUNTS).map(CHANNEL_COUNTS.decode),
        }), "DEFERRED")
      ),
    changeOutbox: (change) =>
      write(() => {
        const { changed, removed, markers, cleared, notices = [], counted = [], logged = [] } = change;
        const parts = [changed, notices, removed, markers, cleared, counted, logged];
        if (parts.every(({ length }) => length === 0)) return;
        connection.transaction(() => {
          for (const row of [...notices, ...changed]) keepQueued(connection, row);
          for (const id of removed) connection.run(DELETE_QUEUED, columnText.encode(id));
          for (const { check, channelKey } of cleared) {
            connection.run(DELETE_MARKER, columnText.encode(check), columnText.encode(channelKey));
          }
          upsertAll(connection, DELIVERY_MARKERS, markers);
          upsertAll(connection, CHANNEL_COUNTS, counted);
          for (const row of logged) logDelivery(connection, row);
        });
      }),
    queueSummary: (summary, before, queued) =>
      write(() =>
        connection.transaction(() => {
          const row = connection.first(SELECT_SUMMARY);
          const present = row && SUMMARY.decode(row);
          if (present?.schedule !== before?.schedule || present?.scheduledMs !== before?.scheduledMs) {
            return false;
          }
          upsertAll(connection, SUMMARY, [summary]);
          for (const row of queued) keepQueued(connection, row);
          return true;
        })
      ),
    addSilences: (silences) =>
      write(() => {
        if (silences.length > 0) connection.transaction(() => upsertAll(connection, SILENCES, silences));
      }),
    endSilences: (checks, nowMs) =>
      write(() => {
        if (checks.length === 0) return 0;
        return connection.transaction(() =>
          checks === "all" ? connection.run(END_ALL_SILENCES, nowMs) : checks.reduce(
            (sum, check) => sum + connection.run(END_SILENCES, nowMs, nullable(columnText).encode(check)),
            0,
          )
        );
      }),
    keepAction: (action, silences) =>
      write(() =>
        connection.transaction(() => {
          upsertAll(connection, ACTIONS, [action]);
          upsertAll(connection, SILENCES, silences);
        })
      ),
  };
}

/** Returns how many rows went; each statement finds its own by an index, and deletes so many at most. */
export function pruneOutbox(
  connection: SqliteConnection,
  { droppedMs, silenceEndMs, journalMs, countedMs }: RetentionLimits,
  rowsMax: number,
): number {
  return connection.run(DELETE_DROPPED, droppedMs, rowsMax) +
    connection.run(DELETE_OLD_SILENCES, silenceEndMs, rowsMax) +
    connection.run(DELETE_OLD_DELIVERIES, journalMs, rowsMax) +
    connection.run(DELETE_OLD_ACTIONS, journalMs, rowsMax) +
    connection.run(DELETE_OLD_COUNTS, countedMs);
}

function upsertAll<T>(connection: SqliteConnection, table: Table<T>, rows: readonly T[]): void {
  for (const row of rows) connection.run(table.upsert, ...table.encode(row));
}

// The statements on the outbox that are more than an upsert of a row. Names and keys are encoded as column text.

const SELECT_OUTBOX = `SELECT ${OUTBOX.columns} FROM outbox ORDER BY sequence, id`;

export const DELETE_QUEUED = "DELETE FROM outbox WHERE key = ?";

/** Deletes notifications that were dropped before a time, so many at most. */
const DELETE_DROPPED = `DELETE FROM outbox WHERE id IN (
    SELECT id FROM outbox WHERE state = 'dropped' AND next_attempt_at_ms < ?1
      AND coalesce(first_failed_at_ms, next_attempt_at_ms) < ?1 LIMIT ?2)`;

export const DELETE_MARKER = "DELETE FROM delivery_markers WHERE check_name = ? AND channel_key = ?";

const LOG_DELIVERY = `${DELIVERIES.insert} ON CONFLICT DO NOTHING`;

/** Deletes logged deliveries before a time, and those beyond so many of the newest; so many at most. */
const DELETE_OLD_DELIVERIES = `DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries
    WHERE at_ms < ?1 OR id <= (SELECT max(id) FROM deliveries) - ${DELIVERIES_MAX} LIMIT ?2)`;

const DELETE_OLD_COUNTS = "DELETE FROM channel_counts WHERE counted_at_ms < ?";

/** Ends at a time the silences and acknowledgements that are not over then. */
const END_ALL_SILENCES = "UPDATE silences SET until_ms = ?1 WHERE until_ms > ?1 AND kind <> 'maintenance'";

/** Ends at a time those of one check, or with NULL those of all checks at once, that are not over then. */
const END_SILENCES = `${END_ALL_SILENCES} AND check_name IS ?2`;

const DELETE_OLD_SILENCES =
  "DELETE FROM silences WHERE id IN (SELECT id FROM silences WHERE until_ms < ? LIMIT ?)";

const DELETE_OLD_ACTIONS = "DELETE FROM actions WHERE id IN (SELECT id FROM actions WHERE at_ms < ? LIMIT ?)";
