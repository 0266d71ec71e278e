import type { Channel } from "../domain/channel.ts";
import { truncate } from "../shared/truncate.ts";
import type { Condition } from "../domain/condition.ts";
import type { TextMax } from "../domain/channel_kind.ts";
import type { DeliveryMarker, QueuedNotification } from "../domain/outbox.ts";
import type { Notification } from "../domain/notification.ts";

/** What a channel was last notified of, for a check. */
export interface LastNotified {
  /** The condition; a second one if it is not certain that the notification arrived. */
  readonly conditions: readonly Condition[];
  readonly isPending: boolean;
}

/** Returns what a channel was last notified of: what is pending, otherwise what was delivered, otherwise `ok`. */
export function lastNotified(
  pending: QueuedNotification | null,
  marker: DeliveryMarker | null,
): LastNotified {
  if (pending !== null) return { conditions: [pending.notification.condition], isPending: true };
  if (marker === null) return { conditions: ["ok"], isPending: false };
  const { condition, certain } = marker;
  return { conditions: certain ? [condition] : [condition, "ok"], isPending: false };
}

/** What {@linkcode queueFor} goes by. */
export interface QueueOptions {
  /** The channels of the check, in the config's order. */
  readonly channels: readonly Channel[];
  nameOf(channel: Channel): string;
  /** What a channel was last notified of, for the check. */
  lastNotifiedOf(channel: Channel): LastNotified;
  /** How much of texts a channel sends. */
  textMaxOf(channel: Channel): TextMax;
  /** The sequence of the first; each further one gets the next. */
  readonly sequence: number;
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * Returns a notification as it is queued for each channel for which it is due: those that were last notified of another
 * condition. So a recovery goes only where its problem went. A reminder is due where nothing is pending. The same
 * channel twice counts once.
 */
export function queueFor(
  notification: Notification,
  { channels, nameOf, lastNotifiedOf, textMaxOf, sequence, nowMs }: QueueOptions,
): readonly QueuedNotification[] {
  const unique = new Map(channels.map((channel) => [channel.key, channel]));
  return [...unique.values()].flatMap((channel) => {
    const previous = previousOf(notification, lastNotifiedOf(channel));
    return previous === null ? [] : [{ channel, previous }];
  }).map(({ channel, previous }, index) =>
    newQueued(shortNotification(notificationFor(notification, previous), textMaxOf(channel)), {
      channelKey: channel.key,
      channelName: nameOf(channel),
      sequence: sequence + index,
      nowMs,
    })
  );
}

/** The condition from which a channel is notified; `null`: it is not. */
function previousOf(
  { event, condition }: Notification,
  { conditions, isPending }: LastNotified,
): Condition | null {
  const other = conditions.find((one) => one !== condition) ?? null;
  if (event !== "reminder") return other;
  return other === null && !isPending ? condition : null;
}

/** A channel may have missed what others got: a notification was dropped, or the channel is new. */
function notificationFor(notification: Notification, known: Condition): Notification {
  if (notification.event === "reminder") return notification;
  const event = notification.condition === "ok" ? "recovery" : known === "ok" ? "problem" : "change";
  return { ...notification, event, previous: known };
}

/** Without what the channel would not send. */
function shortNotification(notification: Notification, { output, detail }: TextMax): Notification {
  return {
    ...notification,
    output: truncate(notification.output, output),
    detail: truncate(notification.detail, detail),
  };
}

/** Returns a queued notification that was never tried. */
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
