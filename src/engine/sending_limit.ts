/**
 * The limit of a channel (`at_most`): when its next message may be sent. Pure.
 *
 * An attempt counts before it starts, so that a kill loses none: from its timeout, since it may arrive as late as that.
 * Once it ends, it counts from its end, or not at all if it certainly did not arrive.
 */
import type { Channel } from "../domain/channel.ts";
import type { MessageLimit } from "../domain/limits.ts";
import {
  type ChannelCount,
  countOf,
  type LimitUse,
  type Notification,
  type OutboxChange,
  PLAIN_NOTIFICATION,
  type QueuedNotification,
} from "../domain/outbox.ts";
import { severity } from "../domain/condition.ts";
import type { Message } from "../domain/delivery.ts";
import { commonCause, describeItem, describeItems, withinLength } from "../channels/describe_item.ts";

export interface SendingLimit {
  readonly atMost: MessageLimit;
  readonly attemptTimeoutMs: number;
  readonly use: LimitUse;
}

const UNUSED: LimitUse = { sentAtMs: [], limitedUntilMs: null };

/** Returns the limit of a channel and its use; `null`: none. */
export function sendingLimit(
  target: { readonly channel: Pick<Channel, "atMost">; readonly attemptTimeoutMs: number } | null,
  use: LimitUse = UNUSED,
): SendingLimit | null {
  const atMost = target?.channel.atMost;
  return target === null || atMost === undefined
    ? null
    : { atMost, attemptTimeoutMs: target.attemptTimeoutMs, use };
}

/** Returns when the next message may be sent; `-Infinity`: at once. */
export function permittedAtMs(limit: SendingLimit | null): number {
  const sentAtMs = limit?.use.sentAtMs.at(-limit.atMost.count);
  return limit === null || sentAtMs === undefined ? -Infinity : sentAtMs + limit.atMost.windowMs;
}

/** Returns whether everything pending is to be sent as one message, since the limit was reached. */
export function isLimited(limit: SendingLimit | null): boolean {
  return limit !== null && limit.use.limitedUntilMs !== null;
}

/** A message is sent. */
export function afterStart(limit: SendingLimit, nowMs: number): SendingLimit {
  const { atMost, attemptTimeoutMs, use } = limit;
  const sentAtMs = [...use.sentAtMs, nowMs + attemptTimeoutMs].slice(-atMost.count);
  return { ...limit, use: { ...use, sentAtMs } };
}

/** It may have arrived until now; `null`: it certainly did not. */
export function afterEnd(limit: SendingLimit, endedAtMs: number | null): SendingLimit {
  const before = limit.use.sentAtMs.slice(0, -1);
  const sentAtMs = endedAtMs === null ? before : [...before, endedAtMs].sort((one, other) => one - other);
  return { ...limit, use: { ...limit.use, sentAtMs } };
}

/** Messages wait until a time; `null`: none does. */
export function afterLimit(limit: SendingLimit, limitedUntilMs: number | null): SendingLimit {
  return { ...limit, use: { ...limit.use, limitedUntilMs } };
}

/** Returns the use after the wall clock was set back by so much. */
export function setUseBack({ sentAtMs, limitedUntilMs }: LimitUse, byMs: number): LimitUse {
  return {
    sentAtMs: sentAtMs.map((ms) => ms - byMs),
    limitedUntilMs: limitedUntilMs === null ? null : limitedUntilMs - byMs,
  };
}

/** Returns a use that was read: an attempt that began at another time than the past comes from another clock. */
export function restoredUse(
  { sentAtMs, limitedUntilMs }: LimitUse,
  { nowMs, attemptTimeoutMs }: { readonly nowMs: number; readonly attemptTimeoutMs: number },
): LimitUse {
  return { sentAtMs: sentAtMs.map((ms) => Math.min(ms, nowMs + attemptTimeoutMs)), limitedUntilMs };
}

/** Returns the part of a change that persists the use of a limit; without a limit it is empty. */
export function countedUse(
  limit: SendingLimit | null,
  notifications: readonly QueuedNotification[],
  numbers: Partial<ChannelCount> & Pick<ChannelCount, "countedAtMs">,
): Pick<OutboxChange, "counted"> {
  return limit === null ? {} : { counted: countOf(notifications, { ...numbers, limitUse: limit.use }) };
}

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
