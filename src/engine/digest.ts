import { severity } from "../domain/condition.ts";
import type { Message } from "../domain/delivery.ts";
import { type Notification, PLAIN_NOTIFICATION } from "../domain/outbox.ts";
import { commonCause, describeItem, describeItems, withinLength } from "../channels/describe_item.ts";

/** The most UTF-16 code units of the lines: a channel sends no more of a detail. */
const LINES_LENGTH_MAX = 30_000;

/**
 * Returns a message with one item that counts and names the others, for a channel that sends each notification by itself.
 * Its check is a number, such as `14 notifications`; its detail has a line for each.
 */
export function digestOf({ items, ...message }: Message): Message {
  const notifications = items.map(({ notification }) => notification);
  const [first] = notifications;
  if (first === undefined || items.length === 1) return { items, ...message };
  const lines = withinLength(items.map(describeItem), LINES_LENGTH_MAX);
  const more = items.length - lines.length;
  const isRecovery = notifications.every(({ event }) => event === "recovery");
  const worst = notifications.reduce(
    (highest, one) => severity(one.condition) > severity(highest.condition) ? one : highest,
    first,
  );
  const cause = commonCause(items);
  const notification: Notification = {
    ...PLAIN_NOTIFICATION,
    id: message.id,
    check: `${items.length} notifications`,
    event: isRecovery ? "recovery" : "problem",
    condition: worst.condition,
    previous: isRecovery ? worst.previous : "ok",
    output: describeItems({ items, ...message }),
    detail: [...lines, ...more > 0 ? [`and ${more} more`] : []].join("\n"),
    problemBeganAtMs: least(notifications.map(({ problemBeganAtMs }) => problemBeganAtMs)),
    decidedAtMs: message.decidedAtMs,
    nextRunAtMs: least(notifications.map(({ nextRunAtMs }) => nextRunAtMs)),
    hostName: first.hostName,
    ...cause !== null && { cause },
  };
  const summarized = items.reduce((sum, item) => sum + item.summarized, 0);
  return {
    ...message,
    items: [{ notification, missedProblem: null, summarized, threadId: null, isDigest: true }],
  };
}

function least(times: readonly number[]): number {
  return times.reduce((before, time) => Math.min(before, time));
}
