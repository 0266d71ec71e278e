/** Notifications that a member sends while the shared state is unreachable. Another member may send them, too. */
import type { OutboxChange, QueuedNotification } from "../domain/outbox.ts";

const UNREACHABLE = "shared state unreachable";
/**
 * The least sequence that a member gives: behind everything that it receives of a queue, which has the numbers of the
 * database.
 */
export const MEMBER_SEQUENCE_MIN = 2 ** 52;

/** Returns it with the reason why it may be sent twice. */
export function toSentOpen(queued: QueuedNotification): QueuedNotification {
  const { notification } = queued;
  const output = notification.output === "" ? UNREACHABLE : `${notification.output} (${UNREACHABLE})`;
  return {
    ...queued,
    notification: { ...notification, output },
  };
}

/** Records sent notifications, also of queues that other members own by now. */
export function toOpenChange(change: OutboxChange): OutboxChange {
  const recovered = change.cleared.map((marker) => ({ ...marker, messageId: "", condition: "ok" as const }));
  return { ...change, sentOpen: [...recovered, ...change.markers.filter(({ certain }) => certain)] };
}
