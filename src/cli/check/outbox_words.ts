import type { QueuedNotification } from "../../domain/outbox.ts";
import type { DeliveryEvent } from "../../alerting/delivery_event.ts";

/** What an event of the outbox is worth saying. */
interface OutboxWords {
  readonly level: "info" | "warning" | "error";
  /** One line, without secrets of the channel; outputs of checks are not in it. */
  readonly message: string;
}

/** Puts an event of the outbox into words; `null` where there is nothing to say. */
export function describeOutboxEvent(event: DeliveryEvent, whatNext: string): OutboxWords | null {
  const notifications = countNotifications(event.notifications);
  const channel = event.notifications[0]?.channelName ?? "a channel";
  if (event.event === "delivered") {
    if (event.note !== null) {
      return { level: "warning", message: `${notifications} delivered to ${channel}, but ${event.note}` };
    }
    return event.isBack
      ? { level: "info", message: `${channel} takes notifications again: ${notifications}` }
      : null;
  }
  if (event.event === "failed") {
    const what = event.isRejected ? "refused by" : "not delivered to";
    return { level: "warning", message: `${notifications} ${what} ${channel}: ${event.reason}; ${whatNext}` };
  }
  if (event.event === "summarized") {
    const message = `too many recovered problems are pending for ${channel}: the older ones are only counted`;
    return { level: "warning", message };
  }
  return { level: "error", message: `${notifications} to ${channel} given up: ${event.reason}` };
}

/** Puts into words that a channel has neither taken nor refused rows when a run had to end. */
export function describeUnfinished(rows: readonly QueuedNotification[], whatNext: string): string {
  const channel = rows[0]?.channelName ?? "a channel";
  return `${countNotifications(rows)} not taken by ${channel} before the run had to end; ${whatNext}`;
}

function countNotifications(rows: readonly QueuedNotification[]): string {
  const names = [...new Set(rows.map((row) => `"${row.notification.check}"`))];
  const some = names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
  return rows.length === 1 ? `the notification of ${some}` : `${rows.length} notifications of ${some}`;
}
