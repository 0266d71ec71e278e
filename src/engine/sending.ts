/** From a due queue to messages, and from the outcome of each to the next: the transitions of a queue that sends. Pure. */
import { countOf, type QueuedNotification } from "../domain/outbox.ts";
import {
  firstDueMs,
  hasPending,
  messageIdOf,
  nextBatch,
  nextRejectedAttemptMs,
  unwantedHeads,
} from "./batching.ts";
import { isObsolete, isStale, logOf, markersAfter, TOO_OLD_TO_SHOW } from "./outbox_changes.ts";
import { mergeNow, mergeSoon } from "./merge_pending.ts";
import {
  afterEnd,
  afterFailure,
  afterLimit,
  afterStart,
  backoffMs,
  type ChannelQueue,
  countedUse,
  type DeliveryEvent,
  EMPTY_QUEUE,
  type EventOf,
  type Failure,
  isLimited,
  NEW_DURING_BACKOFF_MS,
  permittedAtMs,
  type QueueContext,
  type QueueEffect,
  type QueueIn,
  type QueueStatus,
  type QueueTransition,
  rejectedWaitMs,
  type Round,
  type SendingLimit,
  type SentMessage,
} from "./queue_state.ts";

/** A batch that fails temporarily, or may have arrived, is sent one by one after this time: one may be the cause. */
const ONE_BY_ONE_AFTER_MS = 3_600_000;

/** Merges, drops stale notifications, and sends the next message of a round. */
export function sendNext(queue: ChannelQueue, round: Round, context: QueueContext): QueueTransition {
  const { queue: merged, effects } = mergeNow(queue, context);
  const stale = merged.notifications.filter((queued) =>
    isStale(queued, context.isStillTrue(queued), context)
  );
  const wanted = without(merged.notifications, stale);
  const unwanted = unwantedHeads(wanted, context.isExcluded);
  const notifications = without(wanted, unwanted);
  const dropped = [...dropOf(stale, TOO_OLD_TO_SHOW), ...leaveUnsent(unwanted, context)];
  const { limit, nowMs } = context;
  const batch = nextBatch(notifications, round, { ...context, isDigest: isLimited(limit) });
  const before = [...effects, ...dropped];
  if (batch === null) {
    const released = isLimited(limit) && !hasPending(notifications)
      ? noteLimit(limit, merged, null, nowMs)
      : [];
    return { queue: rest({ ...merged, notifications }, context), effects: [...before, ...released] };
  }
  const permittedMs = permittedAtMs(limit);
  if (permittedMs > nowMs) {
    const noted = noteLimit(limit, { ...merged, notifications }, permittedMs, nowMs);
    return {
      queue: { ...merged, notifications, status: { kind: "limited", untilMs: permittedMs } },
      effects: [...before, ...noted],
    };
  }
  const caused = batch.map((queued) => withCause(queued, context));
  const ids = batch.map(({ notification }) => notification.id);
  const hasCause = caused.every(({ notification }) => notification.cause !== undefined);
  const id = batch[0]?.messageId ?? messageIdOf(ids, { hasCause });
  const marked = caused.map((queued): QueuedNotification => ({
    ...queued,
    messageId: id,
    attempts: queued.attempts + 1,
    nextAttemptAtMs: nowMs,
  }));
  const counted = countedUse(limit === null ? null : afterStart(limit, nowMs), marked, nowMs);
  const message: SentMessage = {
    id,
    notifications: marked,
    mayHaveArrived: batch.some(({ messageId }) => messageId !== null),
    lastSequence: notifications.at(-1)?.sequence ?? 0,
  };
  return {
    queue: {
      ...merged,
      notifications: replaced(notifications, marked),
      status: { kind: "sending", message, round, next: "continue" },
    },
    effects: [
      ...before,
      { kind: "persist", change: { changed: marked, removed: [], markers: [], cleared: [], ...counted } },
      { kind: "deliver", message },
    ],
  };
}

/** Adds the cause of a problem, as it is known now; that of a message that is sent again stays. */
function withCause(queued: QueuedNotification, { causes }: QueueContext): QueuedNotification {
  if (queued.messageId !== null) return queued;
  const { cause: _, ...notification } = queued.notification;
  const cause = causes?.of(queued)?.cause ?? null;
  return { ...queued, notification: cause === null ? notification : { ...notification, cause } };
}

/** Notes until when messages wait for the limit; `null`: none does. The first time is logged. */
function noteLimit(
  limit: SendingLimit | null,
  { notifications }: ChannelQueue,
  untilMs: number | null,
  nowMs: number,
): readonly QueueEffect[] {
  if (limit === null || limit.use.limitedUntilMs === untilMs) return [];
  const noted = persistUse(afterLimit(limit, untilMs), notifications, nowMs);
  if (untilMs === null || isLimited(limit)) return noted;
  return [...noted, { kind: "emit", event: { event: "limited", notifications, untilMs } }];
}

export function persistUse(...use: Parameters<typeof countedUse>): readonly QueueEffect[] {
  const { counted = [] } = countedUse(...use);
  if (counted.length === 0) return [];
  return [{ kind: "persist", change: { changed: [], removed: [], markers: [], cleared: [], counted } }];
}

export function onDelivered(
  queue: QueueIn<"sending">,
  { note }: EventOf<"delivered">,
  context: QueueContext,
): QueueTransition {
  const { message: { id, notifications: delivered }, round } = queue.status;
  const notifications = without(queue.notifications, delivered);
  const isWell = notifications.every(hasNotFailed);
  const isBack = isWell && (queue.trouble !== null || !delivered.every(hasNotFailed));
  const ended = context.limit === null ? null : afterEnd(context.limit, context.nowMs);
  const limit = ended === null || hasPending(notifications) ? ended : afterLimit(ended, null);
  const ids = delivered.map((queued) => queued.id);
  const change = {
    changed: [],
    removed: ids,
    delivered: ids,
    ...markersAfter(delivered, id, context.markers),
    counted: countOf(delivered, {
      sent: delivered.length,
      countedAtMs: context.nowMs,
      limitUse: limit?.use ?? null,
    }),
    logged: logOf(delivered, {
      outcome: "accepted",
      answer: note ?? "",
      atMs: context.nowMs,
      messageSize: delivered.length,
    }),
  };
  const effects: readonly QueueEffect[] = [
    { kind: "persist", change },
    ...emit({ event: "delivered", notifications: delivered, note, isBack }),
  ];
  const nextRound = { ...round, accepted: round.accepted + 1, failures: 0 };
  return after(
    { ...queue, notifications, trouble: null },
    { effects, context },
    (next) => sendNext(next, nextRound, { ...context, limit }),
  );
}

export function onFailed(
  queue: QueueIn<"sending">,
  { failure: reported, jitter }: EventOf<"failed">,
  before: QueueContext,
): QueueTransition {
  const { limit, nowMs } = before;
  const endedAtMs = reported.mayHaveArrived ? nowMs : null;
  const context = { ...before, limit: limit === null ? null : afterEnd(limit, endedAtMs) };
  const { message } = queue.status;
  // That it did not arrive this time does not mean that it never did.
  const failure = { ...reported, mayHaveArrived: reported.mayHaveArrived || message.mayHaveArrived };
  const ids = idsOf(message.notifications);
  // Without notifications that a reload has moved or dropped meanwhile.
  const failed = queue.notifications.filter(({ id }) => ids.has(id));
  return failure.retryable
    ? backOff(queue, { failed, failure, jitter }, context)
    : reject(queue, { failed, failure }, context);
}

interface Failed {
  readonly failed: readonly QueuedNotification[];
  readonly failure: Failure;
}

/** The round ends, and everything waits for the channel; a batch that has failed for long is sent one by one first. */
function backOff(
  queue: QueueIn<"sending">,
  { failed, failure, jitter }: Failed & { readonly jitter: number },
  context: QueueContext,
): QueueTransition {
  const { nowMs } = context;
  const { message, round } = queue.status;
  const failures = round.failures + 1;
  const notBeforeMs = nowMs + (failure.retryAfterMs ?? 0);
  const untilMs = Math.max(nowMs + backoffMs(failures, jitter), notBeforeMs);
  const { queue: next, effects } = noteFailure(queue, { failed, failure, nextAttemptAtMs: untilMs }, context);
  if (hasFailedForLong(failed, nowMs) && failure.retryAfterMs === null && isSeparable(failed, failure)) {
    const nextRound = { ...triedIn(round, message), failures, oneByOne: idsOf(failed) };
    return after(next, { effects, context }, (rest) => sendNext(rest, nextRound, context));
  }
  const hasNew = next.notifications.some(({ sequence }) => sequence > message.lastSequence);
  const waitUntilMs = hasNew ? soonerForNew({ untilMs, notBeforeMs }, nowMs) : untilMs;
  return after(next, { effects, context }, (rest) => ({
    queue: { ...rest, status: { kind: "backing_off", failures, notBeforeMs, untilMs: waitUntilMs } },
    effects: [],
  }));
}

/** Returns when a channel that backs off is tried if something is new. */
export function soonerForNew(
  { untilMs, notBeforeMs }: { readonly untilMs: number; readonly notBeforeMs: number },
  nowMs: number,
): number {
  return Math.max(Math.min(untilMs, nowMs + NEW_DURING_BACKOFF_MS), notBeforeMs);
}

/**
 * Continues the round. A rejected batch is sent one by one at once, until the first of it is rejected while nothing
 * was accepted in this round. Then the channel itself rejects, for example because of a wrong password, and all
 * rejected ones wait.
 */
function reject(
  queue: QueueIn<"sending">,
  { failed, failure: reported }: Failed,
  context: QueueContext,
): QueueTransition {
  const { nowMs } = context;
  // A batch that may have arrived keeps its id, but not for so long that one notification blocks the others.
  const failure = failed.length > 1 && hasFailedForLong(failed, nowMs)
    ? { ...reported, mayHaveArrived: false }
    : reported;
  const { message, round } = queue.status;
  const waitMs = Math.max(rejectedWaitMs(failed, nowMs), failure.retryAfterMs ?? 0);
  const nextAttemptAtMs = nowMs + waitMs;
  const { queue: noted, effects } = noteFailure(queue, { failed, failure, nextAttemptAtMs }, context);
  const rejectsAll = round.accepted === 0;
  const remaining = rejectsAll ? [] : [...round.oneByOne];
  const nextRound: Round = {
    ...triedIn(round, message),
    failures: 0,
    oneByOne: isSeparable(failed, failure)
      ? idsOf(failed)
      : new Set(remaining.filter((id) => !idsOf(failed).has(id))),
  };
  const next = rejectsAll ? postpone(noted, nextAttemptAtMs) : noted;
  return after(next, { effects, context }, (rest) => sendNext(rest, nextRound, context));
}

function hasFailedForLong(failed: readonly QueuedNotification[], nowMs: number): boolean {
  return failed.some(({ firstFailedAtMs }) =>
    firstFailedAtMs !== null && nowMs - firstFailedAtMs > ONE_BY_ONE_AFTER_MS
  );
}

/** Returns whether a failed message can be sent one by one: one that may have arrived is sent again as it was. */
function isSeparable(failed: readonly QueuedNotification[], { mayHaveArrived }: Failure): boolean {
  return failed.length > 1 && !mayHaveArrived;
}

function triedIn(round: Round, { notifications }: SentMessage): Round {
  return { ...round, tried: new Set([...round.tried, ...idsOf(notifications)]) };
}

/** All that is rejected waits at least until then. */
function postpone(queue: ChannelQueue, untilMs: number): ChannelQueue {
  return {
    ...queue,
    notifications: queue.notifications.map((queued) =>
      queued.state === "rejected" && queued.nextAttemptAtMs < untilMs
        ? { ...queued, nextAttemptAtMs: untilMs }
        : queued
    ),
  };
}

/** Notes the failure on its notifications, drops those that are obsolete, and logs it if it is news. */
function noteFailure(
  queue: QueueIn<"sending">,
  { failed, failure, nextAttemptAtMs }: Failed & { readonly nextAttemptAtMs: number },
  { nowMs, isStillTrue, limit }: QueueContext,
): QueueTransition {
  const { reason, retryable } = failure;
  const obsolete = failed.filter((queued) => isObsolete(queued, isStillTrue(queued), nowMs));
  const retried = without(failed, obsolete);
  const changed = retried.map((queued) => afterFailure(queued, failure, { nowMs, nextAttemptAtMs }));
  const logged = retryable ? [] : logOf(retried.filter(({ state }) => state !== "rejected"), {
    outcome: "rejected",
    answer: reason,
    atMs: nowMs,
    messageSize: queue.status.message.notifications.length,
  });
  const isNews = (queue.trouble === null && failed.some(hasNotFailed)) ||
    (!retryable && queue.trouble === "down" && failed.length > 0);
  const counted = countOf(queue.status.message.notifications, {
    failedAttempts: 1,
    countedAtMs: nowMs,
    limitUse: limit?.use ?? null,
  });
  return {
    // Undelivered notifications can be merged again.
    queue: mergeSoon({
      ...queue,
      notifications: replaced(without(queue.notifications, obsolete), changed),
      trouble: isNews ? (retryable ? "down" : "rejected") : queue.trouble,
    }, nowMs),
    effects: [
      { kind: "persist", change: { changed, removed: [], markers: [], cleared: [], counted, logged } },
      ...isNews ? emit({ event: "failed", notifications: changed, reason, isRejected: !retryable }) : [],
      ...dropOf(obsolete, reason),
    ],
  };
}

/** Goes on after an outcome, unless the config changed meanwhile or the process ends. */
function after(
  queue: ChannelQueue,
  { effects, context }: { readonly effects: readonly QueueEffect[]; readonly context: QueueContext },
  goOn: (queue: ChannelQueue) => QueueTransition,
): QueueTransition {
  const next = queue.status.kind === "sending" ? queue.status.next : "continue";
  if (next === "stop") return { queue: { ...queue, status: { kind: "stopped" } }, effects };
  if (next === "release") return { queue: EMPTY_QUEUE, effects };
  if (next === "retry_soon") return { queue: retrySoon(queue, context), effects };
  const step = goOn(queue);
  return { queue: step.queue, effects: [...effects, ...step.effects] };
}

/** Returns a queue that tries everything soon, since an administrator may have fixed the cause. */
export function retrySoon(queue: ChannelQueue, context: QueueContext): ChannelQueue {
  const { nowMs, batchingMs, group } = context;
  const notifications = queue.notifications.map((queued) =>
    queued.attempts === 0 ? waitingAtMost(queued, context) : { ...queued, nextAttemptAtMs: nowMs }
  );
  const status: QueueStatus = notifications.length === 0
    ? { kind: "idle" }
    : { kind: "batching", untilMs: Math.max(nowMs + batchingMs, firstDueMs(notifications, group)) };
  return { ...queue, notifications, status };
}

/** Returns a notification that was never tried. If it waits longer than for a group, its time is of another clock or config. */
export function waitingAtMost(
  queued: QueuedNotification,
  { nowMs, group }: QueueContext,
): QueuedNotification {
  return queued.nextAttemptAtMs <= nowMs + (group?.waitMs ?? 0)
    ? queued
    : { ...queued, nextAttemptAtMs: nowMs };
}

/** Returns a queue of which nothing is due now. */
export function rest(queue: ChannelQueue, { nowMs, batchingMs, group }: QueueContext): ChannelQueue {
  const { notifications } = queue;
  if (hasPending(notifications)) {
    const untilMs = Math.max(nowMs + batchingMs, firstDueMs(notifications, group));
    return { ...queue, status: { kind: "batching", untilMs } };
  }
  const untilMs = nextRejectedAttemptMs(notifications);
  return { ...queue, status: untilMs === null ? { kind: "idle" } : { kind: "rejected", untilMs } };
}

function hasNotFailed({ firstFailedAtMs }: QueuedNotification): boolean {
  return firstFailedAtMs === null;
}

function emit(event: DeliveryEvent): readonly QueueEffect[] {
  return event.notifications.length === 0 ? [] : [{ kind: "emit", event }];
}

function dropOf(notifications: readonly QueuedNotification[], reason: string): readonly QueueEffect[] {
  return notifications.length === 0 ? [] : [{ kind: "drop", notifications, reason }];
}

/** The channel counts as notified, so that later notifications are due as if it had been. */
function leaveUnsent(
  unwanted: readonly QueuedNotification[],
  { markers }: QueueContext,
): readonly QueueEffect[] {
  if (unwanted.length === 0) return [];
  const removed = unwanted.map((queued) => queued.id);
  return [{ kind: "persist", change: { changed: [], removed, ...markersAfter(unwanted, "", markers) } }];
}

function idsOf(notifications: readonly QueuedNotification[]): ReadonlySet<string> {
  return new Set(notifications.map(({ id }) => id));
}

function without(
  notifications: readonly QueuedNotification[],
  some: readonly QueuedNotification[],
): readonly QueuedNotification[] {
  if (some.length === 0) return notifications;
  const ids = idsOf(some);
  return notifications.filter(({ id }) => !ids.has(id));
}

function replaced(
  notifications: readonly QueuedNotification[],
  some: readonly QueuedNotification[],
): readonly QueuedNotification[] {
  const byId = new Map(some.map((queued) => [queued.id, queued]));
  return notifications.map((queued) => byId.get(queued.id) ?? queued);
}
