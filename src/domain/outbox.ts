import type { Condition, NotificationEvent, ShownCondition } from "./condition.ts";

/** A notification in the queue of one channel. Contains no parameter of the channel. */
export interface QueuedNotification {
  /** Unique: the notification's id and the channel's key. */
  readonly id: string;
  /** The notification, with no more of an output than the channel sends. */
  readonly notification: Notification;
  /** The problem that recovered before it was sent; then `notification` is its recovery. `null` otherwise. */
  readonly missedProblem: Notification | null;
  /** Older problems, of any check, that recovered before they were sent and are counted here instead of listed. */
  readonly summarized: number;
  /** The channel, as the resolved config keys it. */
  readonly channelKey: string;
  /** The channel's name in messages; no secrets. */
  readonly channelName: string;
  /** The order within a channel: later notifications have larger numbers. Unique among them. */
  readonly sequence: number;
  /** `rejected`: the channel rejected it, so it is retried ever less often; `dropped`: only `monitor status` shows it. */
  readonly state: "pending" | "rejected" | "dropped";
  readonly attempts: number;
  readonly nextAttemptAtMs: number;
  /** Why the last attempt failed; `null` before the first failure. */
  readonly lastFailure: string | null;
  /** When the first attempt failed, wall time; `null` before that. */
  readonly firstFailedAtMs: number | null;
  /**
   * The id of its message. Set before an attempt, until the message is known not to have arrived. While it is set,
   * exactly the notifications of that message are sent again, under the same id.
   */
  readonly messageId: string | null;
}

/** A notice about a channel has this and the name of the channel in the place of the name of a check. */
export const NOTICE_PREFIX = "channel ";

/** Delivery marker: the last notification of a channel, for a check with a problem. */
export interface DeliveryMarker {
  readonly check: string;
  readonly channelKey: string;
  /** The first message about the problem, for threading; empty: the channel leaves it out, so nothing was sent. */
  readonly messageId: string;
  /** The condition of the last notification; never `ok`. */
  readonly condition: Condition;
  /** `false`: a message was dropped that may have arrived, or the check did not have the channel for a while. */
  readonly certain: boolean;
}

/** The outcome of deliveries; persisted in one transaction. */
export interface OutboxChange {
  readonly changed: readonly QueuedNotification[];
  readonly removed: readonly string[];
  /** Those of them that were delivered: that counts although another member owns their queue by now. @default none */
  readonly delivered?: readonly string[];
  /** Markers as they are now; each replaces that of the same check and channel. */
  readonly markers: readonly DeliveryMarker[];
  /** Markers that are deleted: the channel received the recovery, or no longer matters. */
  readonly cleared: readonly Pick<DeliveryMarker, "check" | "channelKey">[];
  /** New notifications of any queue, with any owner. @default none */
  readonly notices?: readonly QueuedNotification[];
  /** Additions to the counts of channels. @default none */
  readonly counted?: readonly ChannelCount[];
  /** Deliveries to log, with any owner of the queue; dropped ones as long as this process does. @default none */
  readonly logged?: readonly LoggedDelivery[];
  /** Those sent last without a claim on their queue, while the shared state was unreachable. Absent: it was reachable. */
  readonly sentOpen?: readonly SentOpen[];
}

/** A notification that was sent without a claim on its queue; `ok`: a recovery. */
export type SentOpen = Omit<DeliveryMarker, "certain">;

/** What became of a notification at a channel. Times are wall time, milliseconds since 1970. */
export interface LoggedDelivery
  extends
    Pick<QueuedNotification, "id" | "channelKey" | "channelName">,
    Pick<Notification, "event" | "condition" | "decidedAtMs"> {
  /** The name of the check, or what a notice or a summary has in its place. */
  readonly check: string;
  /** The problem that recovered before it was sent; then the event is its recovery. `null` otherwise. */
  readonly missedProblem: Condition | null;
  /** The time of the first failed delivery attempt, also of a notification that was merged into it; `null`: none. */
  readonly firstFailedAtMs: number | null;
  /** When the channel accepted it, rejected it for the first time, or it was dropped. */
  readonly atMs: number;
  readonly outcome: "accepted" | "rejected" | "dropped";
  /** The note of the channel, or why it was rejected or dropped, without secrets; at most 256 bytes, often empty. */
  readonly answer: string;
  /** `null`: it was dropped, and is in no message that may have arrived. */
  readonly messageId: string | null;
  /** How many notifications the message had; 0 if it was dropped. */
  readonly messageSize: number;
  /** Older problems, of any check, that the message only counts. */
  readonly summarized: number;
  /** The common cause that the message named; `null`: none. */
  readonly cause: Cause | null;
}

/** An administrator's setting for the notifications of a check, for some time. */
export interface Silence {
  /** An acknowledgement suppresses reminders and escalation alone. A maintenance is a window started by hand. */
  readonly kind: "silence" | "acknowledgement" | "maintenance";
  /** Unique; a persisted one of the same id is replaced. */
  readonly id: string;
  /** `null`: all checks, or those with the tag. */
  readonly check: string | null;
  /** Applies to the checks that have it while it lasts, also to those added later; `null`: `check` decides. */
  readonly tag: string | null;
  readonly fromMs: number;
  /** When notifications are sent again; wall time, milliseconds since 1970. */
  readonly untilMs: number;
  /** When the problem began that it ends with, as an acknowledgement does; `null`: it ends at its time only. */
  readonly problemBeganAtMs: number | null;
  /** For people; may be empty. */
  readonly reason: string;
  /** Who made it on the live page, and from which address, such as `Ada from 192.0.2.7`; `null`: a command made it. */
  readonly by: string | null;
}

/** An action of a person on the live page, as it is recorded. */
export interface PageAction {
  /** Unique. */
  readonly id: string;
  /** Wall time, milliseconds since 1970. */
  readonly atMs: number;
  readonly check: string;
  readonly action: "acknowledge" | "silence" | "maintenance" | "end" | "run";
  /** As in {@linkcode Silence}. */
  readonly by: string;
  /** When what it began ends, wall time; `null`: it began nothing, or that ends with the problem. */
  readonly untilMs: number | null;
  /** The note of the person; may be empty. */
  readonly note: string;
}

/** The use of a channel's limit. All times are wall time, milliseconds since 1970. */
export interface LimitUse {
  /** When messages were sent, oldest first; those that may have arrived included, older ones than the window not. */
  readonly sentAtMs: readonly number[];
  /**
   * Set once a message had to wait, until the queue is empty: when the next one may be sent. Until then, everything
   * pending is sent as one message.
   */
  readonly limitedUntilMs: number | null;
}

export interface ChannelCount extends Pick<QueuedNotification, "channelKey" | "channelName"> {
  readonly sent: number;
  /** Attempts that failed; notifications that were tried together count once. */
  readonly failedAttempts: number;
  readonly dropped: number;
  /** Problems that recovered before they were sent and were counted instead of listed. */
  readonly summarized: number;
  /** Time of the last count; wall time, milliseconds since 1970. */
  readonly countedAtMs: number;
  /** `null`: unchanged, or it never had a limit. */
  readonly limitUse: LimitUse | null;
}

/** Returns the counts that notifications of one channel add; nothing if there are none. */
export function countOf(
  [first]: readonly QueuedNotification[],
  numbers: Partial<ChannelCount> & Pick<ChannelCount, "countedAtMs">,
): readonly ChannelCount[] {
  if (first === undefined) return [];
  const { channelKey, channelName } = first;
  const none = { sent: 0, failedAttempts: 0, dropped: 0, summarized: 0, limitUse: null };
  return [{ channelKey, channelName, ...none, ...numbers }];
}

export function addCounts(before: ChannelCount | undefined, added: ChannelCount): ChannelCount {
  return {
    ...added,
    sent: (before?.sent ?? 0) + added.sent,
    failedAttempts: (before?.failedAttempts ?? 0) + added.failedAttempts,
    dropped: (before?.dropped ?? 0) + added.dropped,
    summarized: (before?.summarized ?? 0) + added.summarized,
    countedAtMs: Math.max(before?.countedAtMs ?? -Infinity, added.countedAtMs),
    limitUse: added.limitUse ?? before?.limitUse ?? null,
  };
}

export interface RenderedSummary {
  readonly html: string;
  /** Its fields in JSON. */
  readonly json: string;
}

export const EVENTS: readonly Notification["event"][] = [
  "problem",
  "change",
  "recovery",
  "reminder",
  "burning",
  "summary",
  "rehearsal",
];

/** The events that are about no condition. */
type StandaloneEvent = "summary" | "rehearsal";

/** A notification of a check, a rehearsal, or a summary, whose detail is its text. Times are wall time, milliseconds since 1970. */
export interface Notification {
  /** Unique; the same in every channel and at every attempt. Letters, digits and `-`. */
  readonly id: string;
  readonly check: string;
  /** The check's title; `null` if the config has none. */
  readonly title: string | null;
  readonly event: NotificationEvent | StandaloneEvent;
  readonly condition: Condition;
  /** The condition last notified; `ok` if none was, or `pending` if none was confirmed before the problem. */
  readonly previous: ShownCondition;
  /** The output of the check result that decided it: one line without secrets, may be empty. */
  readonly output: string;
  /** The further lines of that output, without secrets; often empty. */
  readonly detail: string;
  /** The first result that was not `ok` of the notified problem; in a recovery, of the problem that ended. */
  readonly problemBeganAtMs: number;
  readonly decidedAtMs: number;
  /** Consecutive check results of at least the severity of the last one; for `ok`: that were `ok`. */
  readonly occurrences: number;
  readonly nextRunAtMs: number;
  /** The machine it was decided on. */
  readonly hostName: string;
  /** The note of the acknowledgement of the problem, which may be empty; `null`: not acknowledged. */
  readonly acknowledged: string | null;
  /** Whether the check changes too often. */
  readonly flapping: boolean;
  /** How many checks depend on the check, also by way of others; their problems are suppressed. 0 in a recovery. */
  readonly dependents: number;
  /** The common cause of its problem and others when it was sent. @default none is known */
  readonly cause?: Cause;
  /** With the event `summary`. @default none */
  readonly summary?: RenderedSummary;
  /** With the event `rehearsal`: the secret part of the link that confirms it. @default none */
  readonly token?: string;
}

/** The common cause of the problems of several checks. */
export interface Cause {
  /** One line, such as `all connect to 192.0.2.7, and no healthy check does`. */
  readonly text: string;
  /** How many checks fail with it. */
  readonly checks: number;
  /** The time of the first result that was not ok; wall time, milliseconds since 1970. */
  readonly sinceMs: number;
}

/** The usual values of a notification that is about no condition of a check that runs. */
export const PLAIN_NOTIFICATION = {
  title: null,
  previous: "ok",
  detail: "",
  occurrences: 1,
  acknowledged: null,
  flapping: false,
  dependents: 0,
} as const satisfies Partial<Notification>;

/** Returns whether a notification is about no condition; it is sent alone. */
export function isStandalone(event: string): event is StandaloneEvent {
  return event === "summary" || event === "rehearsal";
}

/** Returns whether the config no longer runs the check: its problem ended for the receiver, and may well go on. */
export function isNoLongerChecked({ event, condition }: Pick<Notification, "event" | "condition">): boolean {
  return event === "recovery" && condition === "unknown";
}

/** What the id of a notification may be made from. */
export type NotificationFacts = Pick<Notification, "check" | "condition">;
