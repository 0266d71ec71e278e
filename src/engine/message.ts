import { severity } from "../domain/condition.ts";
import { hashId } from "../shared/hash.ts";
import type { Message, MessageItem } from "../domain/delivery.ts";
import type { QueuedNotification } from "../domain/outbox.ts";
import { type DeliveryMarkers, markerKey } from "./delivery_markers.ts";
import type { ChannelGroup } from "./queue_state.ts";

/**
 * Returns the message of queued notifications: checks that others depend on first, since they are the likely cause, those
 * with the most before those that depend on them; then by severity, and each check in order.
 */
export function toMessage(
  id: string,
  notifications: readonly QueuedNotification[],
  { markers, group }: { readonly markers: DeliveryMarkers; readonly group: ChannelGroup | null },
): Message {
  const items = notifications.map((queued): MessageItem => {
    const { notification, missedProblem, summarized, channelKey } = queued;
    const threadId = markers.get(markerKey(notification.check, channelKey))?.messageId || null;
    return { notification, missedProblem, summarized, threadId: missedProblem === null ? threadId : null };
  });
  const severities = new Map<string, number>();
  const causes = new Map<string, number>();
  for (const { notification: { check, condition, dependents } } of items) {
    severities.set(check, severity(condition));
    causes.set(check, Math.max(dependents, causes.get(check) ?? 0));
  }
  const rank = (of: ReadonlyMap<string, number>, { notification: { check } }: MessageItem): number =>
    of.get(check) ?? 0;
  return {
    id,
    items: items.sort((one, other) =>
      rank(causes, other) - rank(causes, one) || rank(severities, other) - rank(severities, one)
    ),
    isTest: false,
    ...group !== null && { groupSize: sizeOf(group, notifications, markers) },
    decidedAtMs: notifications.reduce(
      (latest, { notification }) => Math.max(latest, notification.decidedAtMs),
      -Infinity,
    ),
  };
}

/**
 * Returns the id of a message: that of its notification, or one derived from the ids of all of them. So the same
 * notifications have the same id in every process, and other notifications another one, even if the delivery of a
 * message could not be persisted: a receiver that drops duplicates drops nothing else.
 */
export function messageIdOf(
  notificationIds: readonly string[],
  { hasCause = false }: { readonly hasCause?: boolean } = {},
): string {
  const [first = "", ...others] = notificationIds;
  if (others.length === 0) return first;
  return `${hashId(JSON.stringify(notificationIds))}${hasCause ? CAUSE_SUFFIX : ""}`;
}

/** The end of the id of a message of several problems with a common cause: their recoveries belong together, too. */
export const CAUSE_SUFFIX = "-cause";

/** Returns how many checks of the group have a problem that the channel was notified of, or is now. */
function sizeOf(
  group: ChannelGroup,
  notifications: readonly QueuedNotification[],
  markers: DeliveryMarkers,
): number {
  const checks = new Set(notifications.map(({ notification: { check } }) => check));
  const [first] = notifications;
  for (const { check, channelKey, condition } of markers.values()) {
    const isKnown = condition !== "ok" && channelKey === first?.channelKey;
    if (isKnown && group.of(check) === group.of(first.notification.check)) checks.add(check);
  }
  return checks.size;
}
