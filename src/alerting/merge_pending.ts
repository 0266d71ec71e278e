/**
 * What pending rows of a channel come to, so that they stay few while its receiver is down: of each check the rows that
 * say the same as all of them, and of problems that recovered unsent so many as somebody may want to read. Pure.
 *
 * A row that is being sent, or may have arrived, is never touched: it has a message id.
 */
import type { QueuedNotification } from "../domain/outbox.ts";

/** Problems that recovered unsent: so many are listed in one message at most. */
const MISSED_MAX = 1000;
/** What their texts take together, in UTF-16 code units; in one message they share half of it. */
const MISSED_LENGTH_MAX = 1024 * 1024;

/** What merging changes. */
export interface Merged {
  /** All rows, in order. */
  readonly rows: readonly QueuedNotification[];
  /** Rows as they are now. */
  readonly changed: readonly QueuedNotification[];
  /** Ids of rows that others speak for. */
  readonly removed: readonly string[];
  /** How many problems were counted instead of listed. */
  readonly summarized: number;
}

/** Merges the rows of one channel; `null` if there is nothing to merge. */
export function mergeRows(rows: readonly QueuedNotification[]): Merged | null {
  const merged = summarize(mergeChecks(rows));
  const before = new Map(rows.map((row) => [row.id, row]));
  const changed = merged.rows.filter((row) => before.get(row.id) !== row);
  for (const row of merged.rows) before.delete(row.id);
  if (changed.length + before.size === 0) return null;
  return { ...merged, changed, removed: [...before.keys()] };
}

/** Merges what follows one another of one check. */
function mergeChecks(rows: readonly QueuedNotification[]): readonly QueuedNotification[] {
  const merged: (QueuedNotification | null)[] = [];
  const places = new Map<string, number>();
  for (const row of rows) {
    const { check } = row.notification;
    const place = places.get(check);
    const older = place === undefined ? null : merged[place] ?? null;
    const both = older === null ? null : mergePair(older, row);
    if (place === undefined || both === null) places.set(check, merged.push(row) - 1);
    else merged[place] = both;
  }
  return merged.filter((row) => row !== null);
}

/** One row for two of a check, in the place of the older one; `null`: the receiver needs both. */
function mergePair(older: QueuedNotification, newer: QueuedNotification): QueuedNotification | null {
  const { notification: before } = older;
  const { notification: after } = newer;
  if (older.messageId !== null || newer.messageId !== null || before.event === "recovery") return null;
  const isFirst = before.event === "problem";
  const row = {
    ...older,
    id: newer.id,
    // What was rejected keeps its time: a check that flaps is no reason to try a wrong password more often.
    nextAttemptAtMs: older.state === "rejected"
      ? older.nextAttemptAtMs
      : Math.min(older.nextAttemptAtMs, newer.nextAttemptAtMs),
    summarized: older.summarized + newer.summarized,
  };
  if (after.event === "recovery") {
    return { ...row, notification: after, missedProblem: isFirst ? before : null };
  }
  if (isFirst) return { ...row, notification: { ...after, event: "problem", previous: before.previous } };
  return { ...row, notification: after };
}

/** Counts the oldest problems that recovered unsent, if there are too many, in the row that follows them. */
function summarize(rows: readonly QueuedNotification[]): Pick<Merged, "rows" | "summarized"> {
  const missed = rows.filter((row) => row.missedProblem !== null && row.messageId === null);
  let length = missed.reduce((sum, row) => sum + lengthOf(row), 0);
  let count = 0;
  while (missed.length - count > MISSED_MAX || (length > MISSED_LENGTH_MAX && missed.length - count > 1)) {
    length -= lengthOf(missed[count]);
    count++;
  }
  const heir = missed[count];
  if (count === 0 || heir === undefined) return { rows, summarized: 0 };
  const left = new Set(missed.slice(0, count));
  const total = missed.slice(0, count).reduce((sum, row) => sum + row.summarized, heir.summarized + count);
  return {
    rows: rows.filter((row) => !left.has(row)).map((row) =>
      row === heir ? { ...row, summarized: total } : row
    ),
    summarized: count,
  };
}

function lengthOf(row: QueuedNotification | undefined): number {
  if (row === undefined) return 0;
  const { notification, missedProblem } = row;
  return notification.output.length + notification.detail.length +
    (missedProblem?.output.length ?? 0) + (missedProblem?.detail.length ?? 0);
}
