/** Changes of the outbox: the last notification of each check and channel, dropped notifications, the log. Pure. */
import {
  addCounts,
  type ChannelCount,
  countOf,
  type DeliveryMarker,
  isStandalone,
  type LoggedDelivery,
  type OutboxChange,
  type QueuedNotification,
  type SentOpen,
} from "../domain/outbox.ts";
import { truncateBytes } from "../shared/text.ts";

/** All markers, by {@linkcode markerKey}. */
export type DeliveryMarkers = ReadonlyMap<string, DeliveryMarker>;

export function markerKey(check: string, channelKey: string): string {
  return `${channelKey} ${check}`;
}

/** Two channels that get the same notifications have messages of the same id. */
export function messageKey(
  { channelKey, messageId }: Pick<QueuedNotification, "channelKey" | "messageId">,
): string {
  return `${channelKey} ${messageId}`;
}

/** Returns the changes of a delivered message: a recovery clears the marker, anything else sets it. */
export function markersAfter(
  delivered: readonly QueuedNotification[],
  messageId: string,
  markers: DeliveryMarkers,
): Pick<OutboxChange, "markers" | "cleared"> {
  const now = new Map<string, DeliveryMarker | null>();
  const cleared: { check: string; channelKey: string }[] = [];
  // In order: the last notification of a check decides.
  for (const { notification: { check, event, condition }, channelKey } of delivered) {
    if (isStandalone(event) || event === "burning") continue;
    const key = markerKey(check, channelKey);
    const known = now.has(key) ? now.get(key) : markers.get(key);
    const marker = { check, channelKey, messageId: known?.messageId || messageId, condition, certain: true };
    if (event === "recovery") cleared.push({ check, channelKey });
    now.set(key, event === "recovery" ? null : marker);
  }
  return { markers: [...now.values()].filter((marker) => marker !== null), cleared };
}

/** Returns the markers of dropped notifications that may have arrived, so that their channels get a recovery. */
export function markersOfDropped(dropped: readonly QueuedNotification[]): readonly DeliveryMarker[] {
  return dropped.flatMap(({ notification: { check, event, condition }, channelKey, messageId }) =>
    messageId === null || event === "recovery" || event === "burning" || isStandalone(event)
      ? []
      : [{ check, channelKey, messageId, condition, certain: false }]
  );
}

// The dropping of notifications, and the record of dropped ones for `monitor status`.
//
// Invariant: a notification that is still true is never dropped while its check has the channel. If its check loses
// the channel, it is due again once the check has the channel back. A recovery together with its unsent problem is no
// exception: without it, the channel is where it was.

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

/** Returns one change with the effect of several, in order. */
export function joinChanges(changes: readonly OutboxChange[]): OutboxChange {
  const [only, ...others] = changes;
  if (only !== undefined && others.length === 0) return only;
  const changed = new Map<string, QueuedNotification>();
  const removed = new Set<string>();
  const delivered = new Set<string>();
  const markers = new Map<string, DeliveryMarker>();
  const cleared = new Map<string, OutboxChange["cleared"][number]>();
  const counted = new Map<string, ChannelCount>();
  const sentOpen = new Map<string, SentOpen>();
  const notices = new Map<string, QueuedNotification>();
  const logged: LoggedDelivery[] = [];
  for (const change of changes) {
    for (const queued of change.changed) {
      changed.set(queued.id, queued);
      removed.delete(queued.id);
      delivered.delete(queued.id);
    }
    for (const notice of change.notices ?? []) notices.set(notice.id, notice);
    for (const id of change.removed) {
      notices.delete(id);
      changed.delete(id);
      removed.add(id);
    }
    for (const id of change.delivered ?? []) delivered.add(id);
    for (const marker of change.cleared) {
      markers.delete(markerKey(marker.check, marker.channelKey));
      cleared.set(markerKey(marker.check, marker.channelKey), marker);
    }
    for (const marker of change.markers) markers.set(markerKey(marker.check, marker.channelKey), marker);
    for (const count of change.counted ?? []) {
      counted.set(count.channelKey, addCounts(counted.get(count.channelKey), count));
    }
    logged.push(...change.logged ?? []);
    for (const sent of change.sentOpen ?? []) sentOpen.set(markerKey(sent.check, sent.channelKey), sent);
  }
  return {
    changed: [...changed.values()],
    removed: [...removed],
    ...delivered.size > 0 && { delivered: [...delivered] },
    markers: [...markers.values()],
    cleared: [...cleared.values()],
    counted: [...counted.values()],
    ...notices.size > 0 && { notices: [...notices.values()] },
    ...logged.length > 0 && { logged },
    ...changes.some((change) => change.sentOpen !== undefined) && { sentOpen: [...sentOpen.values()] },
  };
}
