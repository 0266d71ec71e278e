/** The outbox, its summary and silences in the database. */
import type { LoggedDelivery, QueuedNotification } from "../../domain/outbox.ts";
import type { OutboxStore, QueuedSummary } from "../../domain/store.ts";
import type { Table } from "../sql/table_declaration.ts";
import type { Access } from "./store_failure.ts";
import type { SqliteConnection } from "./sqlite_connection.ts";
import { columnText, nullable } from "../codec.ts";
import {
  DELETE_MARKER,
  DELETE_QUEUED,
  END_ALL_SILENCES,
  END_SILENCES,
  LOG_DELIVERY,
  SELECT_ACTIONS,
  SELECT_DELIVERIES,
  SELECT_OUTBOX,
  SELECT_SILENCES,
} from "./outbox_statements.ts";
import { SELECT_COUNTS, SELECT_MARKERS, SELECT_SUMMARY } from "../sql/shared_statements.ts";
import {
  ACTIONS,
  CHANNEL_COUNTS,
  DELIVERIES,
  DELIVERY_MARKERS,
  ONLY_ROW,
  OUTBOX,
  SILENCES,
  SUMMARY,
} from "../sql/tables.ts";

/** Keeps a row, as part of whatever transaction is open. */
export function keepQueued(connection: SqliteConnection, row: QueuedNotification): void {
  connection.run(OUTBOX.upsert, ...OUTBOX.encode(row));
}

/** Logs a delivery, as part of whatever transaction is open. */
export function logDelivery(connection: SqliteConnection, row: LoggedDelivery): void {
  connection.run(LOG_DELIVERY, ...DELIVERIES.encode(row));
}

export function createOutboxStore(connection: SqliteConnection, { read, write }: Access): OutboxStore {
  const readQueuedSummary = (): QueuedSummary | null => {
    const row = connection.first(SELECT_SUMMARY);
    if (row === undefined) return null;
    const { schedule, scheduledMs } = SUMMARY.decode(row);
    return { schedule, scheduledMs };
  };
  return {
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
    deliveries: ({ checks, sinceMs, untilMs, haveCause = false }) =>
      read(() => {
        const names = checks === undefined ? null : JSON.stringify(checks.map(columnText.encode));
        return connection.all(SELECT_DELIVERIES, sinceMs, untilMs, names, Number(haveCause)).map(
          DELIVERIES.decode,
        );
      }),
    queuedSummary: () => read(readQueuedSummary),
    queueSummary: (summary, before, queued) =>
      write(() =>
        connection.transaction(() => {
          const present = readQueuedSummary();
          if (present?.schedule !== before?.schedule || present?.scheduledMs !== before?.scheduledMs) {
            return false;
          }
          upsertAll(connection, SUMMARY, [{ id: ONLY_ROW, ...summary }]);
          for (const row of queued) keepQueued(connection, row);
          return true;
        })
      ),
    silences: (nowMs) => read(() => connection.all(SELECT_SILENCES, nowMs).map(SILENCES.decode)),
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
    actions: (check) =>
      read(() => connection.all(SELECT_ACTIONS, columnText.encode(check)).map(ACTIONS.decode)),
  };
}

function upsertAll<T>(connection: SqliteConnection, table: Table<T>, rows: readonly T[]): void {
  for (const row of rows) connection.run(table.upsert, ...table.encode(row));
}
