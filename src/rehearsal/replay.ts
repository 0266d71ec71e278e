/** Replays past results with a config: the messages that it would have sent. */
import { withoutLimits } from "../condition/duration_rule.ts";
import { ConfiguredChannels, toNotifyingConfig } from "../engine/configured_channels.ts";
import type { LoadedConfig } from "../config/load.ts";
import { checkResult, combinedChecks } from "../domain/check.ts";
import type { MessageItem } from "../domain/delivery.ts";
import {
  isStandalone,
  type LoggedDelivery,
  NOTICE_PREFIX,
  type Notification,
  type QueuedNotification,
  type Silence,
} from "../domain/outbox.ts";
import type { Store } from "../domain/store.ts";
import type { System } from "../domain/system.ts";
import { HOUR_MS, MINUTE_MS } from "../shared/time_units.ts";
import { describeMessage, describeNotification } from "./scenario_text.ts";
import type { Past } from "./past.ts";
import { ACTIONS, describeBegun } from "./rehearse.ts";
import { createRehearsalStore, rehearsedMachine, VirtualClock } from "./rehearsal_world.ts";
import { RehearsedService, type RehearsedServiceOptions } from "./rehearsed_service.ts";
import { mergeNotifications } from "../engine/merge_pending.ts";
import type { Condition } from "../domain/condition.ts";

/** A message that a channel would have got. */
export interface ReplayedMessage {
  /** Wall time, milliseconds since 1970. */
  readonly atMs: number;
  readonly channel: string;
  readonly text: string;
}

/** A problem of which a channel was notified. */
export interface ReplayedOutage {
  readonly check: string;
  readonly beganAtMs: number;
  /** When the first channel was notified. */
  readonly notifiedAtMs: number;
  /** `null`: it goes on. */
  readonly endedAtMs: number | null;
}

export interface Replay {
  /** In the order of their times. */
  readonly messages: readonly ReplayedMessage[];
  /** The actions that would have begun, in the order of their times. */
  readonly actions: readonly ReplayedMessage[];
  readonly outages: readonly ReplayedOutage[];
  /** The dates of the evenings of nights (22:00 to 06:00) with a message, in order. */
  readonly nights: readonly string[];
  /** The mean time from the first failure to the first message of an outage; `null` without any. */
  readonly meanDelayMs: number | null;
}

interface ReplayOptions {
  readonly system: System;
  readonly past: Past;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** As in the options of the service. @default none */
  readonly onDecided?: RehearsedServiceOptions["onDecided"];
}

/**
 * Replays the recorded runs and silences of checks with a config. All checks are pending at the beginning: a failure then
 * is a new problem.
 */
export async function replay(config: LoadedConfig, options: ReplayOptions): Promise<Replay> {
  const { past, sinceMs, untilMs, onDecided } = options;
  const all = toNotifyingConfig(config);
  // The replay computes a group from its checks, unless only its recorded results count.
  const running = all.running.filter((check) =>
    past.has(check.name) || !past.hasReviews && combinedChecks(check).length > 0
  );
  const notifying = { ...all, running: running.map(withoutLimits) };
  const channels = new ConfiguredChannels(notifying);
  const clock = new VirtualClock(sinceMs, () => options.system.settle());
  const messages: ReplayedMessage[] = [];
  const actions: ReplayedMessage[] = [];
  const outages = new Map<string, ReplayedOutage>();
  const store = createRehearsalStore();
  const service = await RehearsedService.start({
    config: notifying,
    summary: null,
    system: rehearsedMachine(options.system, clock, "replay"),
    store,
    recorded: past,
    onDecided: (entry) => {
      const text = describeBegun(entry, running);
      if (text !== null) actions.push({ atMs: clock.wallMs(), channel: ACTIONS, text });
      onDecided?.(entry);
    },
    resultOf: ({ name }, atMs) => past.runAfter(name, atMs - 1)?.result ?? NOTHING_RAN,
    nextChangeMs: ({ name }, atMs) => past.nextChangeMs(name, atMs),
    deliver: ({ items }, channel) => {
      const atMs = clock.wallMs();
      const name = channels.nameOf(channel);
      messages.push({ atMs, channel: name, text: describeMessage(items) });
      for (const item of items) noteOutage(item, atMs, outages);
      return { delivered: true, note: null };
    },
  });
  for (const silence of past.silences) {
    if (silence.untilMs <= sinceMs || silence.fromMs >= untilMs) continue;
    await service.advance(silence.fromMs);
    await service.persist();
    await store.addSilences([await asReplayed(silence, store)]);
    await service.acted();
  }
  await service.advance(untilMs);
  await service.stop();
  const found = [...outages.values()];
  const delays = found.map(({ beganAtMs, notifiedAtMs }) => notifiedAtMs - beganAtMs);
  return {
    messages,
    actions,
    outages: found,
    nights: nightsOf(messages, config.timeZone()),
    meanDelayMs: delays.length === 0 ? null : delays.reduce((sum, ms) => sum + ms, 0) / delays.length,
  };
}

/** The result of other checks: only checks with recorded results, and groups, run. */
const NOTHING_RAN = checkResult("unknown", "nothing ran");

/** Returns a silence until ok with the start of the replayed problem, which may differ from the recorded one. */
async function asReplayed(silence: Silence, store: Pick<Store, "records">): Promise<Silence> {
  if (silence.problemBeganAtMs === null) return silence;
  const record = (await store.records()).find(({ name }) => name === silence.check);
  return { ...silence, problemBeganAtMs: record?.condition.problemBeganAtMs ?? silence.problemBeganAtMs };
}

/** Notes a problem that a channel was notified of, or its end; one that recovered unsent is both. */
function noteOutage(
  { notification, missedProblem }: MessageItem,
  atMs: number,
  outages: Map<string, ReplayedOutage>,
): void {
  const { check, event, decidedAtMs } = notification;
  if (event === "burning") return;
  const isOver = event === "recovery";
  const problem = isOver ? missedProblem : notification;
  if (problem !== null) {
    const beganAtMs = problem.problemBeganAtMs;
    outages.getOrInsertComputed(`${beganAtMs} ${check}`, () => ({
      check,
      beganAtMs,
      notifiedAtMs: atMs,
      endedAtMs: null,
    }));
  }
  for (const [key, outage] of isOver ? outages : []) {
    if (outage.check === check && outage.endedAtMs === null) {
      outages.set(key, { ...outage, endedAtMs: decidedAtMs });
    }
  }
}

const NIGHT_FROM_HOUR = 22;
const NIGHT_TO_HOUR = 6;

function nightsOf(messages: readonly ReplayedMessage[], timeZone: string): readonly string[] {
  const nights = new Set<string>();
  for (const { atMs } of messages) {
    const { hour } = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timeZone);
    if (hour < NIGHT_FROM_HOUR && hour >= NIGHT_TO_HOUR) continue;
    const evening = Temporal.Instant.fromEpochMilliseconds(atMs - NIGHT_TO_HOUR * HOUR_MS);
    nights.add(evening.toZonedDateTimeISO(timeZone).toPlainDate().toString());
  }
  return [...nights].sort();
}

/** Messages further apart than this are not the same one. */
const SAME_MS_MAX = 2 * MINUTE_MS;

/** What only one of two replays has. */
interface ReplayDifference {
  readonly sign: "-" | "+";
  readonly message: ReplayedMessage;
}

/** Returns the messages that only one of two has, in the order of their times. */
export function differencesOf(
  before: readonly ReplayedMessage[],
  after: readonly ReplayedMessage[],
): readonly ReplayDifference[] {
  const keyOf = ({ channel, text }: ReplayedMessage): string => `${channel}\n${text}`;
  const left = Map.groupBy(after, keyOf);
  const differences: ReplayDifference[] = [];
  for (const message of before) {
    const same = left.get(keyOf(message)) ?? [];
    const index = same.findIndex(({ atMs }) => Math.abs(atMs - message.atMs) <= SAME_MS_MAX);
    if (index === -1) differences.push({ sign: "-", message });
    else same.splice(index, 1);
  }
  for (const some of left.values()) {
    for (const message of some) differences.push({ sign: "+", message });
  }
  return differences.sort((one, other) => one.message.atMs - other.message.atMs);
}

/** Returns the outages of one that do not overlap with one of the same check of another. */
export function outagesOnlyIn(one: Replay, other: Replay): readonly ReplayedOutage[] {
  const endOf = ({ endedAtMs }: ReplayedOutage): number => endedAtMs ?? Infinity;
  return one.outages.filter((outage) =>
    !other.outages.some((same) =>
      same.check === outage.check && same.beganAtMs <= endOf(outage) && outage.beganAtMs <= endOf(same)
    )
  );
}

// Compares the decisions of a replay with the log of deliveries. In a replay, channels accept everything at once, which
// changes no decision. The log has the pending time of each notification: decisions that its queue merged meanwhile are
// merged before the comparison.

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
const DEVIATION_MS_MAX = MINUTE_MS;

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
  let [end, leastMs] = [from, DEVIATION_MS_MAX];
  for (let index = from; index < decided.length; index++) {
    const laterMs = (decided[index]?.notification.decidedAtMs ?? Infinity) - decidedAtMs;
    if (laterMs > DEVIATION_MS_MAX) break;
    if (Math.abs(laterMs) <= leastMs) [end, leastMs] = [index + 1, Math.abs(laterMs)];
  }
  return end;
}
