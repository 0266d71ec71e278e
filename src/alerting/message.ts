import { severity } from "../domain/condition.ts";
import type { Message, MessageItem } from "../domain/delivery.ts";
import type { QueuedNotification } from "../domain/outbox.ts";
import { type DeliveryMarkers, markerKey } from "./delivery_markers.ts";

/**
 * Returns the message of queued notifications: checks that others depend on first, since they are the likely cause, then
 * by severity, and each check in order.
 */
export function toMessage(
  id: string,
  notifications: readonly QueuedNotification[],
  markers: DeliveryMarkers,
): Message {
  const items = notifications.map((queued): MessageItem => {
    const { notification, missedProblem, summarized, channelKey } = queued;
    const threadId = markers.get(markerKey(notification.check, channelKey))?.messageId ?? null;
    return { notification, missedProblem, summarized, threadId: missedProblem === null ? threadId : null };
  });
  const severities = new Map(
    items.map(({ notification }) => [notification.check, severity(notification.condition)]),
  );
  const severityOf = ({ notification: { check } }: MessageItem): number => severities.get(check) ?? 0;
  const causes = new Set(
    items.filter(({ notification }) => notification.dependents > 0).map(({ notification }) =>
      notification.check
    ),
  );
  const causeOf = ({ notification: { check } }: MessageItem): number => causes.has(check) ? 1 : 0;
  return {
    id,
    items: items.sort((one, other) => causeOf(other) - causeOf(one) || severityOf(other) - severityOf(one)),
    isTest: false,
    decidedAtMs: notifications.reduce(
      (latest, { notification }) => Math.max(latest, notification.decidedAtMs),
      -Infinity,
    ),
  };
}
