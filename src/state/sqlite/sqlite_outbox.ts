/** The part of the store for notifications in a database. Each function is synchronous, and throws errors. */
import type { OutboxChange, QueuedNotification, Silence } from "../../domain/outbox.ts";
import type { KeptOutbox, QueuedSummary } from "../../domain/store.ts";
import type { SqliteConnection } from "./sqlite_connection.ts";
import { columnText, nullable } from "../codec.ts";
import {
  DELETE_MARKER,
  DELETE_QUEUED,
  END_ALL_SILENCES,
  END_SILENCES,
  SELECT_OUTBOX,
  SELECT_SILENCES,
} from "./outbox_statements.ts";
import { SELECT_COUNTS, SELECT_MARKERS, SELECT_SUMMARY } from "../sql/shared_statements.ts";
import { CHANNEL_COUNTS, DELIVERY_MARKERS, ONLY_ROW, OUTBOX, SILENCES, SUMMARY } from "../sql/tables.ts";

/** Keeps a row, as part of whatever transaction is open. */
export function keepQueued(connection: SqliteConnection, row: QueuedNotification): void {
  connection.run(OUTBOX.upsert, ...OUTBOX.encode(row));
}

/** Implements `outbox()` of the store. */
export function readOutbox(connection: SqliteConnection): KeptOutbox {
  return connection.transaction(() => ({
    notifications: connection.all(SELECT_OUTBOX).map(OUTBOX.decode),
    markers: connection.all(SELECT_MARKERS).map(DELIVERY_MARKERS.decode),
    counts: connection.all(SELECT_COUNTS).map(CHANNEL_COUNTS.decode),
  }), "DEFERRED");
}

/** Implements `changeOutbox()` of the store. */
export function changeOutbox(connection: SqliteConnection, change: OutboxChange): void {
  const { changed, removed, markers, cleared, notices = [], counted = [] } = change;
  const count = changed.length + notices.length + removed.length + markers.length + cleared.length +
    counted.length;
  if (count === 0) return;
  connection.transaction(() => {
    for (const row of [...notices, ...changed]) keepQueued(connection, row);
    for (const id of removed) connection.run(DELETE_QUEUED, columnText.encode(id));
    for (const { check, channelKey } of cleared) {
      connection.run(DELETE_MARKER, columnText.encode(check), columnText.encode(channelKey));
    }
    for (const marker of markers) connection.run(DELIVERY_MARKERS.upsert, ...DELIVERY_MARKERS.encode(marker));
    for (const count of counted) connection.run(CHANNEL_COUNTS.upsert, ...CHANNEL_COUNTS.encode(count));
  });
}

/** Implements `queuedSummary()` of the store. */
export function readQueuedSummary(connection: SqliteConnection): QueuedSummary | null {
  const row = connection.first(SELECT_SUMMARY);
  if (row === undefined) return null;
  const { schedule, scheduledMs } = SUMMARY.decode(row);
  return { schedule, scheduledMs };
}

/** Implements `queueSummary()` of the store. */
export function queueSummary(
  connection: SqliteConnection,
  { summary, before, queued }: {
    readonly summary: QueuedSummary;
    readonly before: QueuedSummary | null;
    readonly queued: readonly QueuedNotification[];
  },
): boolean {
  return connection.transaction(() => {
    const present = readQueuedSummary(connection);
    if (present?.schedule !== before?.schedule || present?.scheduledMs !== before?.scheduledMs) return false;
    connection.run(SUMMARY.upsert, ...SUMMARY.encode({ id: ONLY_ROW, ...summary }));
    for (const row of queued) keepQueued(connection, row);
    return true;
  });
}

/** Implements `silences()` of the store. */
export function readSilences(connection: SqliteConnection, nowMs: number): readonly Silence[] {
  return connection.all(SELECT_SILENCES, nowMs).map(SILENCES.decode);
}

/** Implements `addSilences()` of the store. */
export function addSilences(connection: SqliteConnection, silences: readonly Silence[]): void {
  if (silences.length === 0) return;
  connection.transaction(() => {
    for (const silence of silences) connection.run(SILENCES.upsert, ...SILENCES.encode(silence));
  });
}

/** Implements `endSilences()` of the store. */
export function endSilences(
  connection: SqliteConnection,
  checks: readonly (string | null)[] | "all",
  nowMs: number,
): number {
  if (checks === "all") return connection.transaction(() => connection.run(END_ALL_SILENCES, nowMs));
  if (checks.length === 0) return 0;
  return connection.transaction(() =>
    checks.reduce(
      (sum, check) => sum + connection.run(END_SILENCES, nowMs, nullable(columnText).encode(check)),
      0,
    )
  );
}
