/**
 * The contents of the next message of a channel. Pure.
 *
 * - Order: the notifications of a check are sent in order. A check contributes its first notification, its head, and
 *   those that directly follow.
 * - A message that may have arrived is sent again unchanged, under the same id.
 * - Other notifications of a batching channel are sent together, except summaries and rehearsals. Those of any other channel are sent
 *   one at a time, except after a wait for its limit.
 * - Those with a common cause are one message of any channel without groups, and nothing else is in it.
 * - With groups, those of a group are sent together, whatever the channel, once the first of them is due.
 * - A batch that is rejected, or has failed for an hour, is sent one by one.
 */
import { isStandalone, type QueuedNotification } from "../domain/outbox.ts";
import type { ChannelGroup, QueueContext, Round } from "./queue_state.ts";

/** A message with more is hard to read, and a receiver may reject it. */
const BATCH_MAX = 1000;
/** A message that has failed more often comes after others, so that it blocks no other check: after half a minute. */
const ATTEMPTS_IN_ORDER = 2;
/** The same for batches, after about an hour: when a receiver is back, old and new then arrive in few messages. */
const ATTEMPTS_IN_ORDER_BATCHED = 9;

/** Returns the first round after so many temporary failures. */
export function newRound(failures: number, isForced = false): Round {
  return { tried: new Set(), oneByOne: new Set(), accepted: 0, failures, isForced };
}

interface BatchOptions extends Pick<QueueContext, "batches" | "group" | "causes" | "nowMs" | "isExcluded"> {
  /** Whether everything is sent as one message, also if the channel does not batch. */
  readonly isDigest: boolean;
}

/** Returns the notifications of the next message; `null`: the round is over. */
export function nextBatch(
  notifications: readonly QueuedNotification[],
  round: Round,
  { batches, isDigest, group, causes, nowMs, isExcluded }: BatchOptions,
): readonly QueuedNotification[] | null {
  const checks = checksOf(notifications);
  const alone = checks.map(([head]) => head).filter(({ id }) => round.oneByOne.has(id));
  const next = leastTried(alone, 0);
  if (next !== null) return [next];
  const dueAtMs = round.isForced ? () => -Infinity : groupTimes(notifications, group);
  const awaits = (head: QueuedNotification): boolean =>
    !round.isForced && group === null && head.attempts === 0 && causes?.awaitsOthers(head) === true;
  const untried = checks.filter((own) =>
    own.every(({ id }) => !round.tried.has(id)) && dueAtMs(own[0]) <= nowMs
  );
  const ready = untried.filter(([head]) => !awaits(head));
  const pending = ready.filter(([head]) => head.state === "pending");
  const rejected = ready.filter(([head]) => head.state === "rejected" && head.nextAttemptAtMs <= nowMs);
  // Apart, so that a rejected notification spoils no new ones.
  const chosen = pending.length > 0 ? pending : rejected;
  const first = leastTried(
    chosen.map(([head]) => head),
    batches ? ATTEMPTS_IN_ORDER_BATCHED : ATTEMPTS_IN_ORDER,
  );
  if (first === null) return null;
  const { messageId } = first;
  if (messageId !== null) return notifications.filter((queued) => queued.messageId === messageId);
  if (isAlone(first)) return [first];
  const keyOf = (head: QueuedNotification): string | null =>
    group === null ? causes?.of(head)?.key ?? null : group.of(head.notification.check);
  const key = keyOf(first);
  if (!batches && !isDigest && key === null) return [first];
  const isSame = ([head]: NonEmpty): boolean => isDigest || keyOf(head) === key;
  // If one of a cause is sent, those of it that were found meanwhile wait no longer for others.
  const joining = key === null || chosen !== pending
    ? []
    : untried.filter(([head]) => awaits(head) && keyOf(head) === key);
  const all = [...chosen.filter(isSame), ...joining].flatMap((own) => unsealed(own, isExcluded)).toSorted(
    bySequence,
  );
  // A digest of a channel that does not batch is short.
  return batches ? all.slice(0, BATCH_MAX) : all;
}

/** Returns the notifications that can leave the queue unsent: of each check the first ones that are not wanted. */
export function unwantedHeads(
  notifications: readonly QueuedNotification[],
  isExcluded: (queued: QueuedNotification) => boolean,
): readonly QueuedNotification[] {
  return checksOf(notifications).flatMap((own) => {
    const end = own.findIndex((queued) => queued.messageId !== null || !isExcluded(queued));
    return end === -1 ? own : own.slice(0, end);
  });
}

/** Returns when the first rejected notification is retried; `null`: none is rejected, or the first of its check. */
export function nextRejectedAttemptMs(notifications: readonly QueuedNotification[]): number | null {
  const times = checksOf(notifications).flatMap(([{ state, nextAttemptAtMs }]) =>
    state === "rejected" ? [nextAttemptAtMs] : []
  );
  return times.length === 0 ? null : times.reduce((least, time) => Math.min(least, time));
}

/** Returns when the first of all notifications is due; `-Infinity`: none waits for its group. */
export function firstDueMs(notifications: readonly QueuedNotification[], group: ChannelGroup | null): number {
  if (group === null) return -Infinity;
  const dueAtMs = groupTimes(notifications, group);
  return checksOf(notifications).reduce((least, [head]) => Math.min(least, dueAtMs(head)), Infinity);
}

/** Returns when each notification is due with its group; `-Infinity`: it was tried before, or has no group. */
export function groupTimes(
  notifications: readonly QueuedNotification[],
  group: ChannelGroup | null,
): (queued: QueuedNotification) => number {
  if (group === null) return () => -Infinity;
  const waits = (queued: QueuedNotification): boolean =>
    queued.state === "pending" && queued.attempts === 0 && !isAlone(queued);
  const times = new Map<string, number>();
  for (const queued of notifications.filter(waits)) {
    const key = group.of(queued.notification.check);
    times.set(key, Math.min(times.get(key) ?? Infinity, queued.nextAttemptAtMs));
  }
  return (queued) => waits(queued) ? times.get(group.of(queued.notification.check)) ?? -Infinity : -Infinity;
}

/** Returns whether some check's next notification is pending. */
export function hasPending(notifications: readonly QueuedNotification[]): boolean {
  return checksOf(notifications).some(([{ state }]) => state === "pending");
}

type NonEmpty = readonly [QueuedNotification, ...QueuedNotification[]];

function checksOf(notifications: readonly QueuedNotification[]): readonly NonEmpty[] {
  const byCheck = Map.groupBy(notifications, ({ notification }) => notification.check);
  return [...byCheck.values()].flatMap(([head, ...rest]) => head === undefined ? [] : [[head, ...rest]]);
}

function isAlone({ notification }: QueuedNotification): boolean {
  return isStandalone(notification.event);
}

/** Up to the first one of a message that may have arrived, that is not wanted, or that is sent alone. */
function unsealed(own: NonEmpty, isExcluded: BatchOptions["isExcluded"]): readonly QueuedNotification[] {
  const end = own.findIndex((queued) => queued.messageId !== null || isExcluded(queued) || isAlone(queued));
  return end === -1 ? own : own.slice(0, end);
}

/** The first in order, except that those with more attempts go after all others, the least tried first. */
function leastTried(
  heads: readonly QueuedNotification[],
  attemptsInOrder: number,
): QueuedNotification | null {
  const rank = ({ attempts }: QueuedNotification): number => Math.max(0, attempts - attemptsInOrder);
  return heads.reduce<QueuedNotification | null>((first, head) => {
    if (first === null) return head;
    return (rank(head) - rank(first) || bySequence(head, first)) < 0 ? head : first;
  }, null);
}

export function bySequence(one: QueuedNotification, other: QueuedNotification): number {
  return one.sequence - other.sequence;
}
