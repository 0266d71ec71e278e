/**
 * Notices about channels: if one rejects notifications, another one is notified, and once more when it accepts them again.
 * So you learn of a wrong password or an expired token without reading the log.
 */
import type { Channel } from "../domain/channel.ts";
import { NOTICE_PREFIX, type Notification, type QueuedNotification } from "../domain/outbox.ts";
import type { DeliveryEvent } from "./delivery_event.ts";
import { newQueued } from "./queued_notifications.ts";

export interface NoticeOptions {
  /** The channel that the event is about, in messages. */
  readonly channelName: string;
  /** The channel that gets the notice. */
  readonly fallback: Pick<Channel, "key"> & { readonly name: string };
  /** Whether the fallback was last notified that the channel rejects. */
  readonly isNotified: boolean;
  /** Returns a new notification's id; unique. */
  newId(facts: Pick<Notification, "check" | "condition">): string;
  readonly hostName: string;
  readonly sequence: number;
  /** Wall time, milliseconds since 1970. */
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
export function noticeOf(event: DeliveryEvent, options: NoticeOptions): QueuedNotification | null {
  const { channelName, fallback, isNotified, newId, hostName, sequence, nowMs } = options;
  const check = noticeName(channelName);
  const isRejection = event.event === "failed" && event.isRejected;
  if (!isAboutChannel(event) || isNotified === isRejection) return null;
  const condition = isRejection ? "critical" : "ok";
  const count = event.notifications.length;
  const notification: Notification = {
    id: newId({ check, condition }),
    check,
    title: null,
    event: isRejection ? "problem" : "recovery",
    condition,
    previous: isRejection ? "ok" : "critical",
    output: isRejection
      ? `rejects ${count === 1 ? "a notification" : `${count} notifications`}: ${event.reason}`
      : "accepts notifications again",
    detail: "",
    problemBeganAtMs: nowMs,
    decidedAtMs: nowMs,
    occurrences: 1,
    nextRunAtMs: nowMs,
    hostName,
    acknowledged: null,
    flapping: false,
    dependents: 0,
  };
  return newQueued(notification, { channelKey: fallback.key, channelName: fallback.name, sequence, nowMs });
}
