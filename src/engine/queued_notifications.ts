import type { Channel } from "../domain/channel.ts";
import { conditionFor, hoursEndMs, isExcluded, isOutsideHours } from "./channel_filters.ts";
import { quote, truncate } from "../shared/text.ts";
import type { Condition } from "../domain/condition.ts";
import type { TextMax } from "../domain/delivery.ts";
import {
  type DeliveryMarker,
  NOTICE_PREFIX,
  type Notification,
  PLAIN_NOTIFICATION,
  type QueuedNotification,
} from "../domain/outbox.ts";
import type { Rehearsal } from "../domain/check.ts";
import { hashHex } from "../shared/hash.ts";
import type { DeliveryEvent } from "./queue_state.ts";

export interface LastNotified {
  /** The condition; a second one if it is not certain that the notification arrived. */
  readonly conditions: readonly Condition[];
  readonly isPending: boolean;
}

/** Returns the last notification of a channel: a pending one, else the delivered one, else `ok`. */
export function lastNotified(
  pending: QueuedNotification | null,
  marker: DeliveryMarker | null,
): LastNotified {
  if (pending !== null) return { conditions: [conditionAfter(pending.notification)], isPending: true };
  if (marker === null) return { conditions: ["ok"], isPending: false };
  const { condition, certain } = marker;
  return { conditions: certain ? [condition] : [condition, "ok"], isPending: false };
}

/**
 * Returns the condition that a channel was notified of by a notification: `ok` for a recovery, whatever its condition. That
 * the error budget burns is sent only while no problem is notified.
 */
export function conditionAfter({ event, condition }: Pick<Notification, "event" | "condition">): Condition {
  return event === "recovery" || event === "burning" ? "ok" : condition;
}

interface QueueOptions {
  /** The channels of the check, in the config's order. */
  readonly channels: readonly Channel[];
  nameOf(channel: Channel): string;
  /** The condition of the check before its first problem. */
  readonly before: "ok" | "pending";
  lastNotifiedOf(channel: Channel): LastNotified;
  /** Returns whether a problem or a change is not due to a channel that was last notified of these conditions. */
  isLeftOut(channel: Channel, conditions: readonly Condition[]): boolean;
  textMaxOf(channel: Channel): TextMax;
  readonly sequence: number;
  readonly nowMs: number;
}

/**
 * Returns a notification as it is queued for each channel for which it is due: those that were last notified of another
 * condition. So a recovery goes only where its problem went. A reminder is due where nothing is pending. The same
 * channel twice counts once.
 */
export function queueFor(notification: Notification, options: QueueOptions): readonly QueuedNotification[] {
  const { channels, nameOf, textMaxOf, sequence, nowMs } = options;
  const unique = new Map(channels.map((channel) => [channel.key, channel]));
  return [...unique.values()].flatMap((channel) => {
    const due = notificationFor(notification, channel, options);
    return due === null ? [] : [{ channel, due }];
  }).map(({ channel, due }, index) =>
    newQueued(shortNotification(due, textMaxOf(channel)), {
      channelKey: channel.key,
      channelName: nameOf(channel),
      sequence: sequence + index,
      // It waits for others of its group.
      nowMs: channel.group === undefined
        ? nowMs
        : Math.min(nowMs + channel.group.waitMs, hoursEndMs(channel, nowMs)),
    })
  );
}

/**
 * Returns a notification as a channel gets it; `null`: it does not. A channel may have missed notifications of
 * others: one was dropped, the channel is new, or it filters.
 */
function notificationFor(
  notification: Notification,
  channel: Channel,
  { before, lastNotifiedOf, isLeftOut, nowMs }: QueueOptions,
): Notification | null {
  if (notification.event === "burning") {
    // A problem that lasts may be for others, and later: this one does not.
    const isAccepted = channel.afterMs === undefined && !isOutsideHours(channel, nowMs) &&
      conditionFor(channel, notification.condition) !== "ok";
    return isAccepted ? notification : null;
  }
  const { conditions, isPending } = lastNotifiedOf(channel);
  const wantedAfter = (notified?: Condition): Condition =>
    conditionFor(channel, notification.condition, notified);
  const previous = conditions.find((one) => one !== wantedAfter(one));
  const wanted = wantedAfter(previous);
  if (wanted !== "ok" && isOutsideHours(channel, nowMs)) return null;
  if (notification.event === "reminder") {
    const isDue = previous === undefined && !isPending && wanted !== "ok";
    return isDue && !isExcluded(channel, { notification, missedProblem: null }) ? notification : null;
  }
  if (previous === undefined) return null;
  if (wanted === "ok") return { ...notification, event: "recovery", previous, dependents: 0 };
  // Of a condition that is not ok, only for channels that it is ok for.
  if (notification.event === "recovery") return null;
  if (isLeftOut(channel, conditions)) return null;
  return previous === "ok"
    ? { ...notification, event: "problem", previous: before }
    : { ...notification, event: "change", previous };
}

/** Without the parts that the channel would not send. */
export function shortNotification(
  { summary, ...notification }: Notification,
  { output, detail }: TextMax,
): Notification {
  return {
    ...notification,
    output: truncate(notification.output, output),
    detail: truncate(notification.detail, detail),
    ...summary !== undefined && detail > 0 && { summary },
  };
}

/** Returns a rehearsal as it is queued; its link is added once it is sent. */
export function queueRehearsal(
  { channel, token }: Rehearsal,
  { nameOf, textMaxOf, sequence, hostName, nowMs }:
    & Pick<QueueOptions, "nameOf" | "textMaxOf" | "sequence">
    & Pick<Notification, "hostName">
    & { readonly nowMs: number },
): QueuedNotification {
  const channelName = nameOf(channel);
  const notification: Notification = {
    ...PLAIN_NOTIFICATION,
    // Without the token: ids are logged.
    id: `rehearsal-${hashHex(token, 16)}`,
    check: noticeName(channelName),
    title: "Rehearsal, no problem",
    event: "rehearsal",
    condition: "ok",
    output: "confirm that this arrived",
    detail: `This message tests the channel ${quote(channelName)}. Open the link and press the button. ` +
      "A program sends a POST request to the link.",
    token,
    problemBeganAtMs: nowMs,
    decidedAtMs: nowMs,
    nextRunAtMs: nowMs,
    hostName,
  };
  return newQueued(shortNotification(notification, textMaxOf(channel)), {
    channelKey: channel.key,
    channelName,
    sequence,
    nowMs,
  });
}

export function newQueued(
  notification: Notification,
  { nowMs, ...rest }: Pick<QueuedNotification, "channelKey" | "channelName" | "sequence"> & {
    readonly nowMs: number;
  },
): QueuedNotification {
  return {
    ...rest,
    id: `${notification.id}-${rest.channelKey}`,
    notification,
    missedProblem: null,
    summarized: 0,
    state: "pending",
    attempts: 0,
    nextAttemptAtMs: nowMs,
    lastFailure: null,
    firstFailedAtMs: null,
    messageId: null,
  };
}

// Notices about channels: if one rejects notifications, another one is notified, and once more when it accepts them
// again. So you learn of a wrong password or an expired token without reading the log.

interface NoticeOptions extends Pick<Notification, "hostName"> {
  /** The channel that the event is about, in messages. */
  readonly channelName: string;
  /** Whether the fallback was last notified that the channel rejects. */
  readonly isNotified: boolean;
  newId(facts: Pick<Notification, "check" | "condition">): string;
  readonly nowMs: number;
}

/** The notice in the place of the name of a check. */
export function noticeName(channelName: string): string {
  return `${NOTICE_PREFIX}${channelName}`;
}

/** Returns whether an event may lead to a notice. */
export function isAboutChannel(event: DeliveryEvent): boolean {
  return event.event === "failed" ? event.isRejected : event.event === "delivered" && event.isBack;
}

/** Returns the notice about an event of a channel; `null`: none is due, or it was sent. */
export function noticeOf(
  event: DeliveryEvent,
  { channelName, isNotified, newId, hostName, nowMs }: NoticeOptions,
): Notification | null {
  const check = noticeName(channelName);
  const isRejection = event.event === "failed" && event.isRejected;
  if (!isAboutChannel(event) || isNotified === isRejection) return null;
  const condition = isRejection ? "critical" : "ok";
  const count = event.notifications.length;
  return {
    ...PLAIN_NOTIFICATION,
    id: newId({ check, condition }),
    check,
    event: isRejection ? "problem" : "recovery",
    condition,
    previous: isRejection ? "ok" : "critical",
    output: isRejection
      ? `rejects ${count === 1 ? "a notification" : `${count} notifications`}: ${event.reason}`
      : "accepts notifications again",
    problemBeganAtMs: nowMs,
    decidedAtMs: nowMs,
    nextRunAtMs: nowMs,
    hostName,
  };
}
