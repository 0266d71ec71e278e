/**
 * Compares what a replay of the past decides with what was really sent. Channels accept everything at once in a replay,
 * which changes no decision: what waited for its channel is compared as the queue joined it meanwhile.
 */
import type { Condition } from "../domain/condition.ts";
import { type LoggedDelivery, NOTICE_PREFIX, type QueuedNotification } from "../domain/outbox.ts";
import { MINUTE_MS, SECOND_MS } from "../shared/time_units.ts";
import { describeNotification } from "./message_text.ts";
import type { PastDecisions } from "./rehearsed_service.ts";
import type { ReplayDifference, ReplayedNotification } from "./replay.ts";

/** What is stored about notifications. */
export interface SentPast {
  readonly log: readonly LoggedDelivery[];
  /** Those in the queues. */
  readonly waiting: readonly QueuedNotification[];
}

/** A notification, and until when it waited for its channel. */
interface Sent extends ReplayedNotification {
  readonly waitedFromMs: number;
  /** `Infinity`: it still waits. */
  readonly atMs: number;
  readonly isAccepted: boolean;
}

/** A notification was decided at most so long before or after the replayed one. */
const SAME_MS_MAX = 2 * MINUTE_MS;
/** What waits longer waits for its channel. */
const WAIT_MS_MIN = 10 * SECOND_MS;

/** Returns what was sent, without summaries and notices. */
export function acceptedIn(past: SentPast): readonly ReplayedNotification[] {
  return sentIn(past).filter(({ isAccepted }) => isAccepted);
}

/** Returns when it was decided about what was sent. A run at the same time decides itself, before it. */
export function decisionsIn(past: SentPast): PastDecisions {
  const byCheck = Map.groupBy(
    sentIn(past).flatMap(({ check, decidedAtMs, missed }) => {
      const atMs = Math.floor(decidedAtMs);
      // A problem that was not sent before its recovery was decided before that.
      return [...missed === null ? [] : [{ check, atMs: atMs - 1 }], { check, atMs: atMs + 1 }];
    }).sort((one, other) => one.atMs - other.atMs),
    ({ check }) => check,
  );
  const times = new Map([...byCheck].map(([check, all]) => [check, all.map(({ atMs }) => atMs)]));
  const all = [...times.values()].flat().sort((one, other) => one - other);
  return { after: (ms, check) => firstAfter(check === undefined ? all : times.get(check) ?? [], ms) };
}

function firstAfter(sorted: readonly number[], ms: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? Infinity) <= ms) low = middle + 1;
    else high = middle;
  }
  return sorted[low] ?? Infinity;
}

/** Returns the notifications that were only sent, or only replayed, in the order of their times. */
export function differencesFromSent(
  past: SentPast,
  replayed: readonly ReplayedNotification[],
): readonly (ReplayDifference & { readonly message: ReplayedNotification })[] {
  const keyOf = ({ channel, check }: ReplayedNotification): string => `${channel}\n${check}`;
  const sent = sentIn(past);
  const waits = Map.groupBy(sent.filter(hasWaited), ({ channel }) => channel);
  const sentByKey = Map.groupBy(sent, keyOf);
  const replayedByKey = Map.groupBy(replayed, keyOf);
  const keys = new Set([...sentByKey.keys(), ...replayedByKey.keys()]);
  return [...keys].flatMap((key) => {
    const own = sentByKey.get(key) ?? [];
    const channel = key.slice(0, key.indexOf("\n"));
    return compare(own, replayedByKey.get(key) ?? [], waits.get(channel) ?? []);
  }).sort((one, other) => one.message.atMs - other.message.atMs);
}

/** Everything that left a queue or is in one, by the time of its decision. */
function sentIn({ log, waiting }: SentPast): readonly Sent[] {
  const notRejected = log.filter(({ outcome, check, event }) =>
    outcome !== "rejected" && event !== "summary" && !check.startsWith(NOTICE_PREFIX)
  ).map(({ outcome, channelName, missedProblem, firstFailedAtMs, ...rest }) =>
    sentOf({ ...rest, channel: channelName, missed: missedProblem, firstFailedAtMs }, outcome === "accepted")
  );
  const left = waiting.filter(({ state, notification: { event, check } }) =>
    state !== "dropped" && event !== "summary" && !check.startsWith(NOTICE_PREFIX)
  ).map(({ channelName, notification, missedProblem, firstFailedAtMs }) => {
    const missed = missedProblem?.condition ?? null;
    return sentOf({ ...notification, channel: channelName, missed, firstFailedAtMs, atMs: Infinity }, false);
  });
  return [...notRejected, ...left].sort((one, other) => one.decidedAtMs - other.decidedAtMs);
}

function sentOf(
  one: Omit<ReplayedNotification, "text"> & { readonly firstFailedAtMs: number | null },
  isAccepted: boolean,
): Sent {
  const { atMs, channel, check, event, condition, missed, decidedAtMs, firstFailedAtMs } = one;
  return {
    ...{ atMs, channel, check, event, condition, missed, decidedAtMs, isAccepted },
    text: describeNotification(one, missed),
    waitedFromMs: Math.min(decidedAtMs, firstFailedAtMs ?? Infinity),
  };
}

function hasWaited({ waitedFromMs, atMs }: Sent): boolean {
  return atMs - waitedFromMs >= WAIT_MS_MIN;
}

/** Compares the notifications of a check to a channel. */
function compare(
  sent: readonly Sent[],
  replayed: readonly ReplayedNotification[],
  waits: readonly Sent[],
): readonly (ReplayDifference & { readonly message: ReplayedNotification })[] {
  const only: (ReplayDifference & { readonly message: ReplayedNotification })[] = [];
  let next = 0;
  for (const one of sent) {
    const place = placeOf(one, { replayed, from: next, waits });
    if (place === null) {
      if (one.isAccepted) only.push({ sign: "-", message: one });
      continue;
    }
    for (const extra of replayed.slice(next, place.from)) only.push({ sign: "+", message: extra });
    next = place.end;
  }
  for (const extra of replayed.slice(next)) only.push({ sign: "+", message: extra });
  return only;
}

interface Place {
  readonly from: number;
  readonly end: number;
}

/** Returns which of the replayed notifications one is: one of them, or several that were joined while they waited. */
function placeOf(
  one: Sent,
  { replayed, from, waits }: {
    readonly replayed: readonly ReplayedNotification[];
    readonly from: number;
    readonly waits: readonly Sent[];
  },
): Place | null {
  const isLater = ({ decidedAtMs }: ReplayedNotification): boolean =>
    decidedAtMs > one.decidedAtMs + SAME_MS_MAX;
  for (let first = from; first < replayed.length; first++) {
    let joined: Joined | null = null;
    for (let end = first; end < replayed.length; end++) {
      const added = replayed[end];
      if (added === undefined || isLater(added)) break;
      joined = joined === null ? added : join(joined, added);
      if (joined === null) break;
      const isSame = joined.event === one.event && joined.condition === one.condition &&
        joined.missed === one.missed && Math.abs(joined.decidedAtMs - one.decidedAtMs) <= SAME_MS_MAX;
      const mayJoin = end === first ||
        waits.some(({ waitedFromMs, atMs }) =>
          waitedFromMs <= one.decidedAtMs && atMs >= (replayed[first]?.decidedAtMs ?? Infinity)
        );
      if (isSame && mayJoin) return { from: first, end: end + 1 };
    }
  }
  return null;
}

interface Joined extends Pick<ReplayedNotification, "event" | "decidedAtMs"> {
  readonly condition: Condition;
  readonly missed: Condition | null;
}

/** Joins two notifications as a queue does; `null`: it does not. There are no reminders while one waits. */
function join(before: Joined, after: Joined): Joined | null {
  if (before.event === "recovery") return null;
  if (after.event === "reminder") return before.event === "reminder" ? after : before;
  const isFirst = before.event === "problem";
  if (after.event === "recovery") return { ...after, missed: isFirst ? before.condition : null };
  return isFirst ? { ...after, event: "problem" } : after;
}
