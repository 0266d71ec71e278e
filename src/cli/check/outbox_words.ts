import type { QueuedNotification } from "../../domain/outbox.ts";
import type { DeliveryEvent } from "../../engine/delivery_event.ts";
import { timeText } from "../../shared/local_time.ts";

interface OutboxWords {
  readonly level: "info" | "warning" | "error";
  /** One line, without secrets of the channel; outputs of checks are not in it. */
  readonly message: string;
}

/** Describes an event of the outbox; `null` if it is not logged. */
export function describeOutboxEvent(event: DeliveryEvent, whatNext: string): OutboxWords | null {
  const notifications = countNotifications(event.notifications);
  const channel = event.notifications[0]?.channelName ?? "a channel";
  const warning = (message: string): OutboxWords => ({ level: "warning", message });
  if (event.event === "delivered") {
    if (event.note !== null) return warning(`${notifications} delivered to ${channel}, but ${event.note}`);
    if (!event.isBack) return null;
    return { level: "info", message: `${channel} accepts notifications again: ${notifications}` };
  }
  if (event.event === "failed") {
    const what = event.isRejected ? "rejected by" : "not delivered to";
    return warning(`${notifications} ${what} ${channel}: ${event.reason}; ${whatNext}`);
  }
  if (event.event === "summarized") {
    return warning(`too many recovered problems are pending for ${channel}: the older ones are only counted`);
  }
  if (event.event === "limited") {
    const pending = `notifications are pending until ${timeText(event.untilMs)}, then sent together`;
    return warning(`the limit of ${channel} is reached: ${pending}`);
  }
  return { level: "error", message: `${notifications} to ${channel} dropped: ${event.reason}` };
}

/** Describes that a channel has neither accepted nor rejected notifications when a run ended. */
export function describeUnfinished(rows: readonly QueuedNotification[], whatNext: string): string {
  const channel = rows[0]?.channelName ?? "a channel";
  return `${countNotifications(rows)} not delivered to ${channel} before the run ended; ${whatNext}`;
}

export function describePending({ length }: readonly QueuedNotification[]): string {
  return length === 1 ? "1 notification is pending" : `${length} notifications are pending`;
}

/** Such as `the notification of "web"`, or `5 notifications of "a", "b", "c" and 2 more`. */
export function countNotifications(rows: readonly QueuedNotification[]): string {
  const names = [...new Set(rows.map((row) => `"${row.notification.check}"`))];
  const some = names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
  return rows.length === 1 ? `the notification of ${some}` : `${rows.length} notifications of ${some}`;
}
