import type { Channel } from "../domain/channel.ts";
import { truncate } from "../shared/truncate.ts";
import type { Condition } from "../domain/condition.ts";
import type { TextMax } from "../domain/deliver.ts";
import type { QueuedNotification } from "../domain/outbox.ts";
import type { Notification } from "../domain/notification.ts";

/** What {@linkcode rowsFor} goes by. */
export interface RowOptions {
  /** The channels of the check, in the config's order. */
  readonly channels: readonly Channel[];
  /** How people call a channel. */
  nameOf(channel: Channel): string;
  /** What a channel was notified of last, or is about to be; `ok` where it knows of no problem. */
  knownOf(channel: Channel): Condition;
  /** How much of texts a channel sends. */
  textMaxOf(channel: Channel): TextMax;
  /** Whether a notification of the check is on its way to a channel. */
  isPending(channel: Channel): boolean;
  /** The sequence of the first row; each further one gets the next. */
  readonly sequence: number;
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * The outbox rows of a notification: one for each channel that knows another condition, and says from which one it changed.
 * So a recovery goes only where its problem went. A reminder goes only where nothing is on its way; two channels that are
 * the same get one.
 */
export function rowsFor(notification: Notification, options: RowOptions): readonly QueuedNotification[] {
  const channels = new Map(options.channels.map((channel) => [channel.key, channel]));
  return [...channels.values()]
    .map((channel) => ({ channel, known: options.knownOf(channel) }))
    .filter(({ channel, known }) =>
      notification.event === "reminder"
        ? known === notification.condition && !options.isPending(channel)
        : known !== notification.condition
    )
    .map(({ channel, known }, index) =>
      freshRow(shortNotification(notificationFor(notification, known), options.textMaxOf(channel)), {
        channelKey: channel.key,
        channelName: options.nameOf(channel),
        sequence: options.sequence + index,
        nowMs: options.nowMs,
      })
    );
}

/** A channel may know less than the others: what was on its way to it was dropped, or it is new. */
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

/** A row that was never tried. */
export function freshRow(
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
