import { severity } from "../domain/condition.ts";
import type { Message, MessageItem } from "../domain/delivery.ts";
import type { DeliveryMarker, QueuedNotification } from "../domain/outbox.ts";

/** What a channel was told of a check is kept under this key. */
export function markerKey(check: string, channelKey: string): string {
  return `${channelKey} ${check}`;
}

/** What is told, row by row; the checks with the highest severity now first, and of each check in order. */
export function messageOf(
  id: string,
  rows: readonly QueuedNotification[],
  told: ReadonlyMap<string, DeliveryMarker>,
): Message {
  const items = rows.map(({ notification, missedProblem, summarized, channelKey }): MessageItem => {
    const threadId = told.get(markerKey(notification.check, channelKey))?.messageId ?? null;
    return { notification, missedProblem, summarized, threadId: missedProblem === null ? threadId : null };
  });
  const severityNow = new Map(
    items.map(({ notification }) => [notification.check, severity(notification.condition)]),
  );
  const severityOf = ({ notification: { check } }: MessageItem): number => severityNow.get(check) ?? 0;
  return {
    id,
    items: items.sort((one, other) => severityOf(other) - severityOf(one)),
    isTest: false,
    decidedAtMs: rows.reduce((latest, row) => Math.max(latest, row.notification.decidedAtMs), -Infinity),
  };
}
