/**
 * The queue of one channel as a state machine. {@linkcode transitionQueue} takes a queue and an event, and returns
 * the next queue with the effects that the dispatcher executes in order. Pure.
 *
 * - At least once: a notification leaves the queue only if it was delivered, dropped, or moved to another queue.
 * - Persisted first: a message is delivered once its notifications are persisted with its id. While it may have
 *   arrived, it is sent again under that id.
 * - Order: the notifications of a check are sent in order.
 * - Independent: a queue depends on no other queue, and on checks only for which notifications are still true.
 *
 * The timer is no effect. It follows from the queue, see {@linkcode wakeAtMs}.
 */
import type { QueuedNotification } from "../domain/outbox.ts";
import { bySequence, newRound } from "./batching.ts";
import { mergeDue, mergeNow, mergeSoon } from "./merge_pending.ts";
import {
  afterEnd,
  type ChannelQueue,
  EMPTY_QUEUE,
  type EventOf,
  NEW_DURING_BACKOFF_MS,
  type QueueContext,
  type QueueEvent,
  type QueueIn,
  type QueueStatus,
  type QueueTransition,
  restoredAttemptMs,
  type StatusKind,
} from "./queue_state.ts";
import {
  onDelivered,
  onFailed,
  persistUse,
  rest,
  retrySoon,
  sendNext,
  soonerForNew,
  waitingAtMost,
} from "./sending.ts";

/** Returns the next queue after an event. A status ignores the events that it does not handle. */
export function transitionQueue(
  queue: ChannelQueue,
  event: QueueEvent,
  context: QueueContext,
): QueueTransition {
  const act = TRANSITIONS[queue.status.kind][event.kind] as
    | TransitionOf<StatusKind, QueueEvent["kind"]>
    | undefined;
  return act?.(queue, event, context) ?? { queue, effects: [] };
}

/** Returns when a queue wants to be woken; wall time, `Infinity`: not at all. */
export function wakeAtMs({ status, mergeAtMs }: ChannelQueue): number {
  if (status.kind === "idle" || status.kind === "stopped") return Infinity;
  return Math.min(mergeAtMs ?? Infinity, "untilMs" in status ? status.untilMs : Infinity);
}

/** Returns the last notification of a check in a queue. Fast, since each result asks for it. */
export function lastNotificationOf(
  { notifications }: ChannelQueue,
  check: string,
): QueuedNotification | null {
  return lastByCheck.getOrInsertComputed(
    notifications,
    () => new Map(notifications.map((queued) => [queued.notification.check, queued])),
  ).get(check) ?? null;
}

const lastByCheck = new WeakMap<
  readonly QueuedNotification[],
  ReadonlyMap<string, QueuedNotification>
>();

type TransitionOf<S extends StatusKind, E extends QueueEvent["kind"]> = (
  queue: QueueIn<S>,
  event: EventOf<E>,
  context: QueueContext,
) => QueueTransition;

/** What every status does that waits. The persisted notifications of a queue that is left remain for its next owner. */
const WAITING = {
  ...{ woke: wake, reloaded: reload, clock_set_back: setBack, stopped: stop },
  released: (): QueueTransition => ({ queue: EMPTY_QUEUE, effects: [] }),
};

const TRANSITIONS: {
  readonly [S in StatusKind]: { readonly [E in QueueEvent["kind"]]?: TransitionOf<S, E> };
} = {
  idle: { added: addAndWait, reloaded: reload, stopped: stop },
  batching: { ...WAITING, added: addWhileBatching },
  sending: {
    added,
    woke: (queue, _, context) => mergeDue(queue, context),
    delivered: onDelivered,
    failed: onFailed,
    aborted: stop,
    refused: waitToSend,
    reloaded: reloadWhileSending,
    released: (queue) => ({ queue: { ...queue, status: { ...queue.status, next: "release" } }, effects: [] }),
    clock_set_back: setBack,
    stopped: (queue, _, context) =>
      mergeNow({ ...queue, status: { ...queue.status, next: "stop" } }, context),
  },
  backing_off: { ...WAITING, added: addDuringBackoff },
  limited: { ...WAITING, added },
  rejected: { ...WAITING, added: addAndWait },
  stopped: { added },
};

/** Adds notifications, in order. Moved ones may be older than those in the queue. */
function added(queue: ChannelQueue, event: EventOf<"added">, context: QueueContext): QueueTransition {
  const restored = event.notifications.map((queued) => restore(queued, context));
  const notifications = [...queue.notifications, ...restored].sort(bySequence);
  const trouble = queue.trouble ?? troubleOf(event.notifications);
  return { queue: mergeSoon({ ...queue, notifications, trouble }, context.nowMs), effects: [] };
}

/** A new one may be due before the others. */
function addWhileBatching(
  before: QueueIn<"batching">,
  event: EventOf<"added">,
  context: QueueContext,
): QueueTransition {
  const { queue } = added(before, event, context);
  const { status } = rest(queue, context);
  const untilMs = Math.min(before.status.untilMs, "untilMs" in status ? status.untilMs : Infinity);
  return { queue: { ...queue, status: { kind: "batching", untilMs } }, effects: [] };
}

/** New ones wait for more. Restored ones wait as long as they still had to. */
function addAndWait(before: ChannelQueue, event: EventOf<"added">, context: QueueContext): QueueTransition {
  const { queue } = added(before, event, context);
  const retried = event.notifications.filter(({ state, attempts }) => state === "pending" && attempts > 0);
  if (retried.length === 0) return { queue: rest(queue, context), effects: [] };
  const restoredMs = Math.min(...retried.map((queued) => restoredAttemptMs(queued, context.nowMs)));
  const hasNew = event.notifications.some(isNew);
  const untilMs = hasNew ? Math.min(restoredMs, context.nowMs + NEW_DURING_BACKOFF_MS) : restoredMs;
  const failures = Math.max(...retried.map(({ attempts }) => attempts));
  return {
    queue: { ...queue, status: { kind: "backing_off", failures, untilMs, notBeforeMs: -Infinity } },
    effects: [],
  };
}

function addDuringBackoff(
  before: QueueIn<"backing_off">,
  event: EventOf<"added">,
  context: QueueContext,
): QueueTransition {
  const { queue } = added(before, event, context);
  const untilMs = soonerForNew(before.status, context.nowMs);
  return { queue: { ...queue, status: { ...before.status, untilMs } }, effects: [] };
}

/** Sends if it is time; the timer also fires to merge. */
function wake(
  queue: QueueIn<"batching" | "backing_off" | "limited" | "rejected">,
  { isForced }: EventOf<"woke">,
  context: QueueContext,
): QueueTransition {
  const { status } = queue;
  if (!isForced && context.nowMs < status.untilMs) return mergeDue(queue, context);
  const failures = status.kind === "backing_off" ? status.failures : 0;
  return sendNext(queue, newRound(failures, isForced), context);
}

function reload(
  queue: ChannelQueue,
  { notifications }: EventOf<"reloaded">,
  context: QueueContext,
): QueueTransition {
  return { queue: retrySoon(mergeSoon({ ...queue, notifications }, context.nowMs), context), effects: [] };
}

/** The outcome still counts for notifications that were not moved; then everything is retried. */
function reloadWhileSending(
  queue: QueueIn<"sending">,
  { notifications, moved }: EventOf<"reloaded">,
): QueueTransition {
  const { message } = queue.status;
  const own = message.notifications.filter(({ id }) => !moved.has(id));
  const status: QueueStatus = {
    ...queue.status,
    message: { ...message, notifications: own },
    next: "retry_soon",
  };
  return { queue: { ...queue, notifications, status }, effects: [] };
}

/** A pending notification is not delayed because the wall clock was set back. */
function setBack(queue: ChannelQueue, { byMs }: EventOf<"clock_set_back">): QueueTransition {
  const { notifications, status, mergeAtMs } = queue;
  return {
    queue: {
      ...queue,
      notifications: notifications.map((one) => ({ ...one, nextAttemptAtMs: one.nextAttemptAtMs - byMs })),
      status: {
        ...status,
        ..."untilMs" in status && { untilMs: status.untilMs - byMs },
        ..."notBeforeMs" in status && { notBeforeMs: status.notBeforeMs - byMs },
      },
      mergeAtMs: mergeAtMs === null ? null : mergeAtMs - byMs,
    },
    effects: [],
  };
}

/** Another member may own the queue; if not, its message is sent soon. */
function waitToSend(
  queue: QueueIn<"sending">,
  _event: unknown,
  { nowMs, limit }: QueueContext,
): QueueTransition {
  const { message, next } = queue.status;
  const unused = limit === null ? null : afterEnd(limit, null);
  const effects = persistUse(unused, message.notifications, nowMs);
  if (next === "release") return { queue: EMPTY_QUEUE, effects };
  return { queue: { ...queue, status: { kind: "batching", untilMs: nowMs + REFUSED_MS } }, effects };
}

const REFUSED_MS = 1_000;

function stop(queue: ChannelQueue, _event: unknown, context: QueueContext): QueueTransition {
  const merged = mergeNow(queue, context);
  return { ...merged, queue: { ...merged.queue, status: { kind: "stopped" } } };
}

function restore(queued: QueuedNotification, context: QueueContext): QueuedNotification {
  return isNew(queued)
    ? waitingAtMost(queued, context)
    : { ...queued, nextAttemptAtMs: restoredAttemptMs(queued, context.nowMs) };
}

function isNew({ state, attempts }: QueuedNotification): boolean {
  return state === "pending" && attempts === 0;
}

/** A failure that an earlier process has logged is not logged again. */
function troubleOf(notifications: readonly QueuedNotification[]): ChannelQueue["trouble"] {
  const failed = notifications.filter(({ firstFailedAtMs }) => firstFailedAtMs !== null);
  if (failed.length === 0) return null;
  return failed.some(({ state }) => state === "rejected") ? "rejected" : "down";
}
