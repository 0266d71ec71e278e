/**
 * Compares the decisions of a replay with the log of deliveries. In a replay, channels accept everything at once, which
 * changes no decision. The log has the pending time of each notification: decisions that its queue merged meanwhile are
 * merged before the comparison.
 */
import { mergeNotifications } from "../engine/merge_pending.ts";
import type { Condition } from "../domain/condition.ts";
import {
  isStandalone,
  type LoggedDelivery,
  NOTICE_PREFIX,
  type Notification,
  type QueuedNotification,
} from "../domain/outbox.ts";
import { MINUTE_MS } from "../shared/time_units.ts";
import { describeNotification } from "./scenario_text.ts";
import type { ReplayDifference, ReplayedMessage } from "./replay.ts";

interface SentPast {
  readonly log: readonly LoggedDelivery[];
  readonly waiting: readonly QueuedNotification[];
}

/** A sent notification, or the decision of a replay. */
export interface VerifiedNotification extends ReplayedMessage {
  readonly check: string;
  readonly event: Notification["event"];
  readonly condition: Condition;
  /** The condition of a problem that recovered before it was sent; `null`: none. */
  readonly missed: Condition | null;
  readonly decidedAtMs: number;
}

interface VerifiedDifference extends ReplayDifference {
  readonly message: VerifiedNotification;
}

interface Sent extends VerifiedNotification {
  /** The latest begin of its pending time, which ends at `atMs`; `Infinity`: still pending. */
  readonly waitedFromMs: number;
  readonly isAccepted: boolean;
}

/** The tolerated difference of a replayed decision: the longest deviation of a run in a row of a journal. */
const SAME_MS_MAX = MINUTE_MS;

/** Returns the sent notifications, without summaries and notices. */
export function acceptedIn(past: SentPast): readonly VerifiedNotification[] {
  return sentIn(past).filter(({ isAccepted }) => isAccepted);
}

/** Returns the notifications that were only sent, or only decided in the replay, in the order of their times. */
export function differencesFromSent(
  past: SentPast,
  decided: readonly QueuedNotification[],
  isExcluded: (queued: QueuedNotification) => boolean,
): readonly VerifiedDifference[] {
  const sentByKey = Map.groupBy(sentIn(past), ({ channel, check }) => `${channel}\n${check}`);
  const decidedByKey = Map.groupBy(
    decided,
    ({ channelName, notification: { check } }) => `${channelName}\n${check}`,
  );
  const keys = new Set([...sentByKey.keys(), ...decidedByKey.keys()]);
  return [...keys].flatMap((key) =>
    compare(sentByKey.get(key) ?? [], decidedByKey.get(key) ?? [], isExcluded)
  ).sort((one, other) => one.message.atMs - other.message.atMs);
}

/** Returns delivered, dropped and queued notifications, by the time of their decision. */
function sentIn({ log, waiting }: SentPast): readonly Sent[] {
  const isOfCheck = ({ event, check }: Pick<Notification, "event" | "check">): boolean =>
    !isStandalone(event) && !check.startsWith(NOTICE_PREFIX);
  const left = log.filter((one) => one.outcome !== "rejected" && isOfCheck(one)).map((one): Sent => ({
    ...verified(one, one.channelName, one.missedProblem),
    atMs: one.atMs,
    waitedFromMs: Math.min(one.decidedAtMs, one.firstFailedAtMs ?? Infinity),
    isAccepted: one.outcome === "accepted",
  }));
  const kept = waiting.filter(({ state, notification }) => state !== "dropped" && isOfCheck(notification));
  return [
    ...left,
    ...kept.map((queued): Sent => ({
      ...verifiedOf(queued),
      atMs: Infinity,
      waitedFromMs: Math.min(queued.notification.decidedAtMs, queued.firstFailedAtMs ?? Infinity),
      isAccepted: false,
    })),
  ].sort((one, other) => one.decidedAtMs - other.decidedAtMs);
}

function verifiedOf({ notification, missedProblem, channelName }: QueuedNotification): VerifiedNotification {
  return verified(notification, channelName, missedProblem?.condition ?? null);
}

function verified(
  { check, event, condition, decidedAtMs }: Pick<
    Notification,
    "check" | "event" | "condition" | "decidedAtMs"
  >,
  channel: string,
  missed: Condition | null,
): VerifiedNotification {
  const text = describeNotification({ check, event, condition }, missed);
  return { ...{ check, event, condition, decidedAtMs, channel, missed, text }, atMs: decidedAtMs };
}

/** Compares the notifications of a check to a channel. */
function compare(
  sent: readonly Sent[],
  decided: readonly QueuedNotification[],
  isExcluded: (queued: QueuedNotification) => boolean,
): readonly VerifiedDifference[] {
  const joinedOf = (some: readonly QueuedNotification[]): readonly QueuedNotification[] =>
    (mergeNotifications(some, isExcluded)?.notifications ?? some).filter((queued) => !isExcluded(queued));
  const isSame = (one: Sent, queued: QueuedNotification): boolean => {
    const { notification: { event, condition }, missedProblem } = queued;
    if (one.event !== event || one.condition !== condition) return false;
    if (one.missed === (missedProblem?.condition ?? null)) return true;
    // A problem that `events` omits may have left the queue before its recovery.
    return one.missed === null && missedProblem !== null &&
      isExcluded({ ...queued, notification: missedProblem, missedProblem: null });
  };
  const extra = (queued: QueuedNotification): VerifiedDifference => ({
    sign: "+",
    message: verifiedOf(queued),
  });
  const only: VerifiedDifference[] = [];
  const queued = decided.filter(({ notification }) =>
    notification.event !== "reminder" || !isWaiting(sent, notification)
  );
  let next = 0;
  for (const one of sent) {
    const end = endOf(one, queued, next);
    const joined = joinedOf(queued.slice(next, end));
    next = end;
    const same = joined.findLast((queued) => isSame(one, queued));
    if (same === undefined && one.isAccepted) only.push({ sign: "-", message: one });
    only.push(...joined.filter((queued) => queued !== same).map(extra));
  }
  return [...only, ...joinedOf(queued.slice(next)).map(extra)];
}

/**
 * Returns whether another notification was pending when a reminder was decided: then the reminder was not queued. With
 * members, the owner of the queue decides that later, and the other one may have been accepted meanwhile.
 */
function isWaiting(sent: readonly Sent[], { decidedAtMs }: Notification): boolean {
  const wasQueued = sent.some((one) => one.event === "reminder" && one.decidedAtMs === decidedAtMs);
  return !wasQueued &&
    sent.some(({ waitedFromMs, atMs }) => waitedFromMs + 1 < decidedAtMs && decidedAtMs < atMs);
}

/** Returns the end of the decisions that were merged into a notification: the last one has its time. */
function endOf({ decidedAtMs }: Sent, decided: readonly QueuedNotification[], from: number): number {
  let [end, leastMs] = [from, SAME_MS_MAX];
  for (let index = from; index < decided.length; index++) {
    const laterMs = (decided[index]?.notification.decidedAtMs ?? Infinity) - decidedAtMs;
    if (laterMs > SAME_MS_MAX) break;
    if (Math.abs(laterMs) <= leastMs) [end, leastMs] = [index + 1, Math.abs(laterMs)];
  }
  return end;
}
