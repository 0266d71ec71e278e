/**
 * Merging keeps a queue short while its receiver is down. Of each check, those notifications stay that mean the same as
 * all of them; of problems that recovered unsent, as many as an administrator may want to read. Pure.
 *
 * A notification that is being sent, or may have arrived, is never touched: it has a message id.
 */
import { countOf, isStandalone, type QueuedNotification } from "../domain/outbox.ts";
import type { ChannelQueue, QueueContext, QueueEffect, QueueTransition } from "./queue_state.ts";

/** New notifications are merged together after this time, since each time costs a transaction. */
const MERGE_AFTER_MS = 1_000;
/** The most problems that recovered unsent and are listed in one message. */
const MISSED_MAX = 1000;
/** The most UTF-16 code units of their texts together; in one message they share half of it. */
const MISSED_LENGTH_MAX = 1024 * 1024;

type MergeContext = Pick<QueueContext, "nowMs" | "isExcluded">;

/** Returns a queue that is merged within a second. */
export function mergeSoon(queue: ChannelQueue, nowMs: number): ChannelQueue {
  const mergeAtMs = queue.notifications.length < 2 ? null : queue.mergeAtMs ?? nowMs + MERGE_AFTER_MS;
  return { ...queue, mergeAtMs };
}

export function mergeDue(queue: ChannelQueue, context: MergeContext): QueueTransition {
  if (queue.mergeAtMs === null || context.nowMs < queue.mergeAtMs) return { queue, effects: [] };
  return mergeNow(queue, context);
}

/** Merges a queue. The first time that problems are counted is logged, until the count is sent. */
export function mergeNow(before: ChannelQueue, { nowMs, isExcluded }: MergeContext): QueueTransition {
  const queue = { ...before, mergeAtMs: null };
  const merged = mergeNotifications(queue.notifications, isExcluded);
  if (merged === null) return { queue, effects: [] };
  const { notifications, changed, removed, summarized } = merged;
  const counted = summarized === 0 ? [] : countOf(changed, { summarized, countedAtMs: nowMs });
  const isFirst = summarized > 0 && queue.notifications.every((queued) => queued.summarized === 0);
  const effects: QueueEffect[] = [
    { kind: "persist", change: { changed, removed, markers: [], cleared: [], counted } },
  ];
  if (isFirst) effects.push({ kind: "emit", event: { event: "summarized", notifications: changed } });
  return { queue: { ...queue, notifications }, effects };
}

interface Merged {
  /** All that is left, in order. */
  readonly notifications: readonly QueuedNotification[];
  readonly changed: readonly QueuedNotification[];
  readonly removed: readonly string[];
  /** How many problems were counted instead of listed. */
  readonly summarized: number;
}

/** Merges the notifications of one channel; `null`: there is nothing to merge. */
export function mergeNotifications(
  queued: readonly QueuedNotification[],
  isExcluded: QueueContext["isExcluded"] = () => false,
): Merged | null {
  const { notifications, summarized } = summarize(mergeChecks(queued, isExcluded));
  const before = new Map(queued.map((one) => [one.id, one]));
  const changed = notifications.filter((one) => before.get(one.id) !== one);
  for (const { id } of notifications) before.delete(id);
  if (changed.length + before.size === 0) return null;
  return { notifications, changed, removed: [...before.keys()], summarized };
}

function mergeChecks(
  notifications: readonly QueuedNotification[],
  isExcluded: QueueContext["isExcluded"],
): readonly QueuedNotification[] {
  const merged: (QueuedNotification | null)[] = [];
  const places = new Map<string, number>();
  for (const queued of notifications) {
    const { check, event } = queued.notification;
    // It is about what the check did before, whatever follows.
    if (event === "burning") {
      merged.push(queued);
      continue;
    }
    const place = places.get(check);
    const older = place === undefined ? null : merged[place] ?? null;
    // A change would become part of a problem that the channel does not get.
    const isLost = event === "change" && older !== null && isExcluded(older) && !isExcluded(queued);
    const both = older === null || isLost ? null : mergePair(older, queued);
    if (place === undefined || both === null) places.set(check, merged.push(queued) - 1);
    else merged[place] = both;
  }
  return merged.filter((queued) => queued !== null);
}

/** Returns one notification for two of a check, in the place of the older one; `null`: the receiver needs both. */
function mergePair(older: QueuedNotification, newer: QueuedNotification): QueuedNotification | null {
  const { notification: before } = older;
  const { notification: after } = newer;
  if (older.messageId !== null || newer.messageId !== null) return null;
  // Only the link of the last rehearsal confirms.
  const isReplaced = before.event === "rehearsal" && after.event === "rehearsal";
  if (before.event === "recovery" || isStandalone(before.event) && !isReplaced) return null;
  const isFirst = before.event === "problem";
  const both = {
    ...older,
    id: newer.id,
    // A rejected notification keeps its time: flapping is no reason to retry a wrong password more often.
    nextAttemptAtMs: older.state === "rejected"
      ? older.nextAttemptAtMs
      : Math.min(older.nextAttemptAtMs, newer.nextAttemptAtMs),
    summarized: older.summarized + newer.summarized,
  };
  if (after.event === "recovery") {
    return { ...both, notification: after, missedProblem: isFirst ? before : null };
  }
  if (isFirst) return { ...both, notification: { ...after, event: "problem", previous: before.previous } };
  return { ...both, notification: after };
}

/** Counts the oldest problems that recovered unsent, if there are too many, in the notification that follows them. */
function summarize(
  notifications: readonly QueuedNotification[],
): Pick<Merged, "notifications" | "summarized"> {
  const missed = notifications.filter((queued) => queued.missedProblem !== null && queued.messageId === null);
  let length = missed.reduce((sum, queued) => sum + lengthOf(queued), 0);
  let count = 0;
  while (missed.length - count > MISSED_MAX || (length > MISSED_LENGTH_MAX && missed.length - count > 1)) {
    length -= lengthOf(missed[count]);
    count++;
  }
  const next = missed[count];
  if (count === 0 || next === undefined) return { notifications, summarized: 0 };
  const left = new Set(missed.slice(0, count));
  const total = missed.slice(0, count).reduce(
    (sum, queued) => sum + queued.summarized,
    next.summarized + count,
  );
  return {
    notifications: notifications.filter((queued) => !left.has(queued)).map((queued) =>
      queued === next ? { ...queued, summarized: total } : queued
    ),
    summarized: count,
  };
}

function lengthOf(queued: QueuedNotification | undefined): number {
  if (queued === undefined) return 0;
  const { notification, missedProblem } = queued;
  return notification.output.length + notification.detail.length +
    (missedProblem?.output.length ?? 0) + (missedProblem?.detail.length ?? 0);
}
