/** The types of the state machine in `channel_queue.ts`, and the times of its retries and its limit. Pure. */
import {
  type Cause,
  countOf,
  type LimitUse,
  type OutboxChange,
  type QueuedNotification,
} from "../domain/outbox.ts";
import type { DeliveryMarkers } from "./outbox_changes.ts";
import type { Delivery } from "../domain/delivery.ts";
import type { Channel } from "../domain/channel.ts";
import type { MessageLimit } from "../domain/limits.ts";

/** The pending notifications of one channel. All times are wall time, milliseconds since 1970. */
export interface ChannelQueue {
  /** By sequence; neither dropped ones nor those of other channels. */
  readonly notifications: readonly QueuedNotification[];
  readonly status: QueueStatus;
  /** The failure that was logged since the channel last accepted something. */
  readonly trouble: "down" | "rejected" | null;
  /** When new notifications are merged with older ones; `null`: nothing is new. */
  readonly mergeAtMs: number | null;
}

export const EMPTY_QUEUE: ChannelQueue = {
  notifications: [],
  status: { kind: "idle" },
  trouble: null,
  mergeAtMs: null,
};

export type QueueStatus =
  | { readonly kind: "idle" }
  /** Waits a moment for more, so that simultaneous failures are sent together. */
  | { readonly kind: "batching"; readonly untilMs: number }
  | {
    readonly kind: "sending";
    readonly message: SentMessage;
    readonly round: Round;
    /**
     * The next step after its outcome: the next message; a retry of everything soon, since the config changed;
     * nothing; or the queue is left to another member.
     */
    readonly next: "continue" | "retry_soon" | "stop" | "release";
  }
  /** The channel failed temporarily. */
  | {
    readonly kind: "backing_off";
    readonly untilMs: number;
    readonly failures: number;
    /** The receiver asked not to be called before (`Retry-After`). */
    readonly notBeforeMs: number;
  }
  /** The channel has sent as much as its limit permits. */
  | { readonly kind: "limited"; readonly untilMs: number }
  /** The channel rejected all that is queued, or the first notification of each check. */
  | { readonly kind: "rejected"; readonly untilMs: number }
  | { readonly kind: "stopped" };

/** The messages that a channel is sent in a row. It ends with a temporary failure, or if nothing is left to send. */
export interface Round {
  /** Ids of notifications that were attempted and not accepted. */
  readonly tried: ReadonlySet<string>;
  /** Ids of a failed batch, which are sent one by one. */
  readonly oneByOne: ReadonlySet<string>;
  readonly accepted: number;
  readonly failures: number;
  /** Whether no group waits. */
  readonly isForced: boolean;
}

export interface ChannelGroup {
  /** How long the first notification of a group waits for others. */
  readonly waitMs: number;
  of(check: string): string;
}

export interface SentMessage {
  readonly id: string;
  readonly notifications: readonly QueuedNotification[];
  /** Whether it may have arrived at an earlier attempt. */
  readonly mayHaveArrived: boolean;
  /** The last sequence in the queue when it was sent: larger ones were queued later. */
  readonly lastSequence: number;
}

export type QueueEvent =
  /** New notifications, or restored ones. */
  | { readonly kind: "added"; readonly notifications: readonly QueuedNotification[] }
  /** The timer of {@linkcode ChannelQueue} fired; forced: everything is tried once, whatever its time. */
  | { readonly kind: "woke"; readonly isForced: boolean }
  | { readonly kind: "delivered"; readonly note: string | null }
  /** `jitter`: 0 or more, below 1. */
  | { readonly kind: "failed"; readonly failure: Failure; readonly jitter: number }
  /** The attempt was aborted because the process ends. */
  | { readonly kind: "aborted" }
  /** The message was not sent, since it isn't certain that this member owns the queue. */
  | { readonly kind: "refused" }
  /** Another member owns the queue now. */
  | { readonly kind: "released" }
  /** The config was reloaded: these are its notifications now, and `moved` ids are those of other queues. */
  | {
    readonly kind: "reloaded";
    readonly notifications: readonly QueuedNotification[];
    readonly moved: ReadonlySet<string>;
  }
  | { readonly kind: "clock_set_back"; readonly byMs: number }
  | { readonly kind: "stopped" };

/** An effect of a transition; the dispatcher executes them in order. */
export type QueueEffect =
  | { readonly kind: "persist"; readonly change: OutboxChange }
  /** Delivers the message once all before it is persisted; its outcome is the next event. */
  | { readonly kind: "deliver"; readonly message: SentMessage }
  | { readonly kind: "drop"; readonly notifications: readonly QueuedNotification[]; readonly reason: string }
  | { readonly kind: "emit"; readonly event: DeliveryEvent };

export interface QueueContext {
  readonly nowMs: number;
  /** How long to wait for more. */
  readonly batchingMs: number;
  readonly batches: boolean;
  /** The groups of the channel, each of which waits to be one message; `null`: it has none. */
  readonly group: ChannelGroup | null;
  /** Older notifications that are no longer true are dropped unsent; `null`: none is too old. */
  readonly staleAfterMs: number | null;
  /** `null`: the channel has none. */
  readonly limit: SendingLimit | null;
  readonly markers: DeliveryMarkers;
  /** Returns whether a check still has the condition of a notification. */
  isStillTrue(queued: QueuedNotification): boolean;
  /** The common causes of problems, now; `null`: those of this channel are sent by themselves. */
  readonly causes: CommonCauses | null;
  /** Returns whether its check wants no such events sent to the channel. */
  isExcluded(queued: QueuedNotification): boolean;
}

export interface CommonCauses {
  /** Returns the cause of a problem, and a key that it shares with the others; `null`: none is known. */
  of(queued: QueuedNotification): { readonly key: string; readonly cause: Cause | null } | null;
  /** Returns whether it waits for checks that are being run at once, since they may have the same cause. */
  awaitsOthers(queued: QueuedNotification): boolean;
}

export interface QueueTransition {
  readonly queue: ChannelQueue;
  readonly effects: readonly QueueEffect[];
}

export type StatusKind = QueueStatus["kind"];

export type QueueIn<K extends StatusKind> = ChannelQueue & {
  readonly status: Extract<QueueStatus, { readonly kind: K }>;
};

export type EventOf<K extends QueueEvent["kind"]> = Extract<QueueEvent, { readonly kind: K }>;

// When a failed delivery is retried. Temporary failures back off per channel; a rejection concerns its notifications
// alone, and may need an administrator.

/** Backoff after temporary failures, from 10 s to 15 min. */
const BACKOFF_MS_MIN = 10_000;
const BACKOFF_MS_MAX = 15 * 60_000;

/** With at most two attempts each time, a wrong password stays below common limits such as 5 failures in 10 minutes. */
const REJECTED_MS_MIN = 5 * 60_000;
const REJECTED_MS_MAX = 3_600_000;

/** While a channel backs off, a new notification is tried after this time at the latest. */
export const NEW_DURING_BACKOFF_MS = 60_000;

/** Returns the wait after so many failures in a row. `jitter`, 0 to below 1, keeps monitors from retrying in step. */
export function backoffMs(failures: number, jitter: number): number {
  const full = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** Math.min(failures - 1, 20));
  return Math.round(full * (0.75 + jitter / 4));
}

/** Returns the wait after a rejection: twice as long as these have been rejected, 5 minutes to an hour. */
export function rejectedWaitMs(notifications: readonly QueuedNotification[], nowMs: number): number {
  const sinceMs = notifications.reduce(
    (least, { state, firstFailedAtMs }) =>
      state === "rejected" ? Math.min(least, firstFailedAtMs ?? nowMs) : least,
    nowMs,
  );
  return Math.min(REJECTED_MS_MAX, Math.max(REJECTED_MS_MIN, 2 * (nowMs - sinceMs)));
}

/** Returns the time of a restored attempt. No wait is longer than an hour, so a later time comes from another clock. */
export function restoredAttemptMs({ nextAttemptAtMs }: QueuedNotification, nowMs: number): number {
  return nextAttemptAtMs > nowMs + REJECTED_MS_MAX ? nowMs : Math.max(nowMs, nextAttemptAtMs);
}

export type Failure = Extract<Delivery, { readonly delivered: false }>;

/** Returns a queued notification after a failure. It keeps its message id while the message may have arrived. */
export function afterFailure(
  queued: QueuedNotification,
  { retryable, reason, mayHaveArrived }: Failure,
  { nowMs, nextAttemptAtMs }: { readonly nowMs: number; readonly nextAttemptAtMs: number },
): QueuedNotification {
  return {
    ...queued,
    state: retryable ? "pending" : "rejected",
    nextAttemptAtMs,
    lastFailure: reason,
    firstFailedAtMs: queued.firstFailedAtMs ?? nowMs,
    messageId: mayHaveArrived ? queued.messageId : null,
  };
}

/** An event of the notifications of one channel, for logs. */
export type DeliveryEvent =
  & { readonly notifications: readonly QueuedNotification[] }
  & (
    | { readonly event: "delivered"; readonly note: string | null; readonly isBack: boolean }
    /** The first failure since the channel last accepted something, and the first rejection. */
    | { readonly event: "failed"; readonly reason: string; readonly isRejected: boolean }
    /** Older problems that recovered unsent are counted from now on instead of listed; once until the count is sent. */
    | { readonly event: "summarized" }
    /** The channel's limit is reached: these and all later ones wait, to be sent as one message. */
    | { readonly event: "limited"; readonly untilMs: number }
    | { readonly event: "dropped"; readonly reason: string }
  );

// The limit of a channel (`at_most`): when its next message may be sent.
//
// An attempt counts before it starts, so that a kill loses none: from its timeout, since it may arrive as late as that.
// Once it ends, it counts from its end, or not at all if it certainly did not arrive.

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
  countedAtMs: number,
): Pick<OutboxChange, "counted"> {
  return limit === null ? {} : { counted: countOf(notifications, { countedAtMs, limitUse: limit.use }) };
}
