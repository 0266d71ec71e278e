/** The part of the store in a database that reports go through: each function answers at once, or throws. */
import type { OutboxChange, QueuedNotification, Silence } from "../domain/outbox.ts";
import type { KeptOutbox } from "../domain/store.ts";
import type { Connection } from "./connection.ts";
import { encodeText, encodeTextOrNull } from "./members.ts";
import {
  countOfRow,
  outboxRowOfRow,
  rowOfCount,
  rowOfOutboxRow,
  rowOfSilence,
  rowOfTold,
  silenceOfRow,
  toldOfRow,
} from "./outbox_rows.ts";
import {
  ADD_TO_COUNTS,
  DELETE_OUTBOX_ROW,
  DELETE_TOLD,
  END_ALL_SILENCES,
  END_SILENCES,
  SELECT_COUNTS,
  SELECT_OUTBOX,
  SELECT_SILENCES,
  SELECT_TOLD,
  UPSERT_OUTBOX_ROW,
  UPSERT_SILENCE,
  UPSERT_TOLD,
} from "./outbox_statements.ts";

/** Keeps a row, as part of whatever transaction is open. */
export function keepOutboxRow(connection: Connection, row: QueuedNotification): void {
  connection.run(UPSERT_OUTBOX_ROW, ...rowOfOutboxRow(row));
}

/** What `outbox()` of the store answers. */
export function readOutbox(connection: Connection): KeptOutbox {
  return connection.transaction(() => ({
    notifications: connection.all(SELECT_OUTBOX).map(outboxRowOfRow),
    markers: connection.all(SELECT_TOLD).map(toldOfRow),
    counts: connection.all(SELECT_COUNTS).map(countOfRow),
  }), "DEFERRED");
}

/** What `changeOutbox()` of the store does. */
export function changeOutbox(connection: Connection, change: OutboxChange): void {
  const { changed, removed, markers, cleared, counted = [] } = change;
  const count = changed.length + removed.length + markers.length + cleared.length + counted.length;
  if (count === 0) return;
  connection.transaction(() => {
    for (const row of changed) keepOutboxRow(connection, row);
    for (const id of removed) connection.run(DELETE_OUTBOX_ROW, encodeText(id));
    for (const { check, channelKey } of cleared) {
      connection.run(DELETE_TOLD, encodeText(check), encodeText(channelKey));
    }
    for (const marker of markers) connection.run(UPSERT_TOLD, ...rowOfTold(marker));
    for (const count of counted) connection.run(ADD_TO_COUNTS, ...rowOfCount(count));
  });
}

/** What `silences()` of the store answers. */
export function readSilences(connection: Connection, nowMs: number): readonly Silence[] {
  return connection.all(SELECT_SILENCES, nowMs).map(silenceOfRow);
}

/** What `addSilences()` of the store does. */
export function addSilences(connection: Connection, silences: readonly Silence[]): void {
  if (silences.length === 0) return;
  connection.transaction(() => {
    for (const silence of silences) connection.run(UPSERT_SILENCE, ...rowOfSilence(silence));
  });
}

/** What `endSilences()` of the store does. */
export function endSilences(
  connection: Connection,
  checks: readonly (string | null)[] | "all",
  nowMs: number,
): number {
  if (checks === "all") return connection.transaction(() => connection.run(END_ALL_SILENCES, nowMs));
  if (checks.length === 0) return 0;
  return connection.transaction(() =>
    checks.reduce((sum, check) => sum + connection.run(END_SILENCES, nowMs, encodeTextOrNull(check)), 0)
  );
}
