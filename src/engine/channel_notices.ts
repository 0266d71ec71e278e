/**
 * Notices about channels: if one rejects notifications, another one is notified, and once more when it accepts them again.
 * So you learn of a wrong password or an expired token without reading the log.
 */
import { NOTICE_PREFIX, type Notification, PLAIN_NOTIFICATION } from "../domain/outbox.ts";
import type { DeliveryEvent } from "./delivery_event.ts";

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
