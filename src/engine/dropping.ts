/**
 * The dropping of notifications, and the record of dropped ones for `monitor status`. Pure.
 *
 * Invariant: a notification that is still true is never dropped while its check has the channel. If its check loses
 * the channel, it is due again once the check has the channel back. A recovery together with its unsent problem is no
 * exception: without it, the channel is where it was.
 */
import {
  countOf,
  type LoggedDelivery,
  type OutboxChange,
  type QueuedNotification,
} from "../domain/outbox.ts";
import { markerKey, markersOfDropped } from "./delivery_markers.ts";
import { truncateBytes } from "../shared/text.ts";

/** A notification that is no longer true is retried for so long. */
export const RETRY_OBSOLETE_MS = 24 * 3_600_000;

/** Why a notification is dropped before it is sent. */
export const TOO_OLD_TO_SHOW = "it was too old to be shown";

/** Returns whether a failed notification is dropped instead of retried. */
export function isObsolete(queued: QueuedNotification, isStillTrue: boolean, nowMs: number): boolean {
  return nowMs - queued.notification.decidedAtMs > RETRY_OBSOLETE_MS && !isStillTrue;
}

/** Returns whether a notification is too old for a channel that shows only news. */
export function isStale(
  queued: QueuedNotification,
  isStillTrue: boolean,
  { staleAfterMs, nowMs }: { readonly staleAfterMs: number | null; readonly nowMs: number },
): boolean {
  return staleAfterMs !== null && nowMs - queued.notification.decidedAtMs > staleAfterMs &&
    (!isStillTrue || queued.missedProblem !== null);
}

interface DropOptions {
  readonly reason: string;
  readonly nowMs: number;
  readonly before: Iterable<QueuedNotification>;
}

/** Returns the change that drops notifications. For each check and channel, only the last dropped one is kept. */
export function dropChange(
  notifications: readonly QueuedNotification[],
  { reason, nowMs, before }: DropOptions,
): OutboxChange {
  const last = new Map(notifications.map((queued) => [placeOf(queued), dropped(queued, { reason, nowMs })]));
  const kept = new Set([...last.values()].map(({ id }) => id));
  const replaced = [...before].filter((queued) => last.has(placeOf(queued)));
  const byChannel = Map.groupBy(notifications, ({ channelKey }) => channelKey);
  return {
    changed: [...last.values()],
    removed: [...replaced, ...notifications].flatMap(({ id }) => kept.has(id) ? [] : [id]),
    markers: markersOfDropped(notifications),
    cleared: [],
    counted: [...byChannel.values()].flatMap((some) =>
      countOf(some, { dropped: some.length, countedAtMs: nowMs })
    ),
    logged: logOf(notifications, { outcome: "dropped", answer: reason, atMs: nowMs, messageSize: 0 }),
  };
}

function placeOf({ notification, channelKey }: QueuedNotification): string {
  return markerKey(notification.check, channelKey);
}

function dropped(
  queued: QueuedNotification,
  { reason, nowMs }: Pick<DropOptions, "reason" | "nowMs">,
): QueuedNotification {
  const { summary: _, token: __, ...notification } = queued.notification;
  return {
    ...queued,
    notification: { ...notification, output: "", detail: "" },
    missedProblem: null,
    state: "dropped",
    nextAttemptAtMs: nowMs,
    lastFailure: reason,
    firstFailedAtMs: queued.firstFailedAtMs ?? nowMs,
    messageId: null,
  };
}

const ANSWER_BYTES_MAX = 256;

export function logOf(
  notifications: readonly QueuedNotification[],
  { answer, ...outcome }: Pick<LoggedDelivery, "outcome" | "answer" | "atMs" | "messageSize">,
): readonly LoggedDelivery[] {
  return notifications.map((queued) => {
    const { id, channelKey, channelName, messageId, summarized, missedProblem, notification } = queued;
    const { check, event, condition, decidedAtMs } = notification;
    const failedAtMs = outcome.outcome === "rejected" ? outcome.atMs : null;
    return {
      ...outcome,
      firstFailedAtMs: queued.firstFailedAtMs ?? failedAtMs,
      ...{ id, check, channelKey, channelName, event, condition, decidedAtMs, messageId, summarized },
      missedProblem: missedProblem?.condition ?? null,
      cause: notification.cause ?? null,
      answer: truncateBytes(answer, ANSWER_BYTES_MAX),
    };
  });
}
