import type { LoggedDelivery, QueuedNotification } from "../domain/outbox.ts";
import { truncateBytes } from "../shared/text.ts";

const ANSWER_BYTES_MAX = 256;

/** Returns what is logged of notifications that have the same outcome. */
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
