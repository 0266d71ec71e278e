/**
 * The next message of a channel: its notifications with their order, id and common causes. Pure.
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
import {
  isStandalone,
  type Notification,
  PLAIN_NOTIFICATION,
  type QueuedNotification,
} from "../domain/outbox.ts";
import { commonCause, describeItem, describeItems, withinLength } from "../channels/describe_item.ts";
import type { ChannelGroup, CommonCauses, QueueContext, Round } from "./queue_state.ts";
import { severity } from "../domain/condition.ts";
import { hashId } from "../shared/hash.ts";
import type { Message, MessageItem } from "../domain/delivery.ts";
import { type DeliveryMarkers, markerKey, messageKey } from "./outbox_changes.ts";
import { lazily } from "../shared/lazily.ts";
import { awaitedUntilMs, CAUSE_WAIT_MS, type CausesOptions, findCauses, type FoundCause } from "./causes.ts";

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

/**
 * Returns the message of queued notifications: checks that others depend on first, since they are the likely cause, those
 * with the most before those that depend on them; then by severity, and each check in order.
 */
export function toMessage(
  id: string,
  notifications: readonly QueuedNotification[],
  { markers, group }: { readonly markers: DeliveryMarkers; readonly group: ChannelGroup | null },
): Message {
  const items = notifications.map((queued): MessageItem => {
    const { notification, missedProblem, summarized, channelKey } = queued;
    const threadId = markers.get(markerKey(notification.check, channelKey))?.messageId || null;
    return { notification, missedProblem, summarized, threadId: missedProblem === null ? threadId : null };
  });
  const severities = new Map<string, number>();
  const causes = new Map<string, number>();
  for (const { notification: { check, condition, dependents } } of items) {
    severities.set(check, severity(condition));
    causes.set(check, Math.max(dependents, causes.get(check) ?? 0));
  }
  const rank = (of: ReadonlyMap<string, number>, { notification: { check } }: MessageItem): number =>
    of.get(check) ?? 0;
  return {
    id,
    items: items.sort((one, other) =>
      rank(causes, other) - rank(causes, one) || rank(severities, other) - rank(severities, one)
    ),
    isTest: false,
    ...group !== null && { groupSize: sizeOf(group, notifications, markers) },
    decidedAtMs: notifications.reduce(
      (latest, { notification }) => Math.max(latest, notification.decidedAtMs),
      -Infinity,
    ),
  };
}

/**
 * Returns the id of a message: that of its notification, or one derived from the ids of all of them. So the same
 * notifications have the same id in every process, and other notifications another one, even if the delivery of a
 * message could not be persisted: a receiver that drops duplicates drops nothing else.
 */
export function messageIdOf(
  notificationIds: readonly string[],
  { hasCause = false }: { readonly hasCause?: boolean } = {},
): string {
  const [first = "", ...others] = notificationIds;
  if (others.length === 0) return first;
  return `${hashId(JSON.stringify(notificationIds))}${hasCause ? CAUSE_SUFFIX : ""}`;
}

/** The end of the id of a message of several problems with a common cause: their recoveries belong together, too. */
const CAUSE_SUFFIX = "-cause";

/** Returns how many checks of the group have a problem that the channel was notified of, or is now. */
function sizeOf(
  group: ChannelGroup,
  notifications: readonly QueuedNotification[],
  markers: DeliveryMarkers,
): number {
  const checks = new Set(notifications.map(({ notification: { check } }) => check));
  const [first] = notifications;
  for (const { check, channelKey, condition } of markers.values()) {
    const isKnown = condition !== "ok" && channelKey === first?.channelKey;
    if (isKnown && group.of(check) === group.of(first.notification.check)) checks.add(check);
  }
  return checks.size;
}

/**
 * Returns the common causes of queued notifications, as they are now. The recoveries of checks whose problems were one
 * message with a cause have a key in common.
 */
export function commonCausesOf(
  options: CausesOptions,
  markers: DeliveryMarkers,
  nowMs: number,
): CommonCauses {
  const siblingsOf = siblingsIn(markers);
  const sentIn = ({ channelKey, notification: { check } }: QueuedNotification): string =>
    markers.get(markerKey(check, channelKey))?.messageId ?? "";
  /** All of a cause wait, or they would be several messages. */
  const awaitedOf = (check: string): number => {
    const cause = findCauses(options).get(check);
    if (cause === undefined) return awaitedUntilMs(check, options);
    return awaited.getOrInsertComputed(
      cause,
      () => cause.names.reduce((least, name) => Math.min(least, awaitedUntilMs(name, options)), Infinity),
    );
  };
  const awaited = new Map<FoundCause, number>();
  const recoveries = new Map<string, number>();
  return {
    of(queued) {
      const { check, event } = queued.notification;
      if (event === "recovery") {
        return siblingsOf(queued).length < 2 ? null : { key: `recovery ${sentIn(queued)}`, cause: null };
      }
      const found = findCauses(options).get(check);
      if (found === undefined) return null;
      const { attribute, text, checks, sinceMs } = found;
      return { key: `${attribute} ${sinceMs}`, cause: { text, checks, sinceMs } };
    },
    awaitsOthers(queued) {
      const { channelKey, notification: { check, event, decidedAtMs } } = queued;
      const untilMs = decidedAtMs + CAUSE_WAIT_MS;
      if (nowMs >= untilMs || nowMs < decidedAtMs) return false;
      if (event !== "recovery") return awaitedOf(check) <= untilMs;
      const key = messageKey({ channelKey, messageId: sentIn(queued) });
      return recoveries.getOrInsertComputed(key, () => recoveryUntilMs(siblingsOf(queued), options)) <=
        untilMs;
    },
  };
}

/** Returns the checks whose last results decide about the causes of queued notifications. */
export function decidingChecks(
  queued: readonly QueuedNotification[],
  markers: DeliveryMarkers,
): readonly string[] {
  const siblingsOf = siblingsIn(markers);
  return queued.flatMap((one) => {
    const { notification: { check, event } } = one;
    return event === "recovery" ? siblingsOf(one) : [check];
  });
}

/** Returns a function that returns the checks whose problem was in the same message, because of its cause. */
function siblingsIn(markers: DeliveryMarkers): (queued: QueuedNotification) => readonly string[] {
  const siblings = lazily(() => Map.groupBy(markers.values(), messageKey));
  return ({ channelKey, notification: { check } }) => {
    const messageId = markers.get(markerKey(check, channelKey))?.messageId;
    if (messageId?.endsWith(CAUSE_SUFFIX) !== true) return [];
    return siblings().get(messageKey({ channelKey, messageId }))?.map((marker) => marker.check) ?? [];
  };
}

/**
 * Returns until when a recovery waits for those of the same message: `-Infinity` while a check of them is being run at
 * once, else the next run that may confirm a recovery; `Infinity`: for none.
 */
function recoveryUntilMs(checks: readonly string[], { recordOf, running }: CausesOptions): number {
  const records = checks.filter((name) => running.has(name)).map(recordOf);
  const recoveredAtMs = records.reduce(
    (latest, { last, condition: { observed } }) =>
      observed === "ok" && last !== null ? Math.max(latest, last.startedAtMs + last.durationMs) : latest,
    -Infinity,
  );
  return records.filter(({ condition: { confirmed } }) => confirmed !== "ok").reduce(
    (least, { last, condition: { observed }, nextRunAtMs }) => {
      if (observed === "ok") return Math.min(least, nextRunAtMs ?? Infinity);
      return (last?.startedAtMs ?? Infinity) < recoveredAtMs ? -Infinity : least;
    },
    Infinity,
  );
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
