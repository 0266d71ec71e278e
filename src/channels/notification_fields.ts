import type { CheckFacts, MessageItem, TextMax } from "../domain/delivery.ts";
import type { Notification } from "../domain/outbox.ts";
import { describeCause, headline, lasted } from "./describe_item.ts";
import { isoTime } from "../shared/json_values.ts";
import { truncate } from "../shared/text.ts";

/** For a webhook's JSON, a command's input, an `ndjson` event. Fields are only ever added. Times are ISO 8601 in UTC. */
interface NotificationFields extends
  Omit<
    Notification,
    "problemBeganAtMs" | "decidedAtMs" | "nextRunAtMs" | "hostName" | "cause" | "summary" | "token"
  > {
  readonly problem_began_at: string;
  readonly decided_at: string;
  readonly next_run_at: string;
  readonly host: string;
  /** The common cause of its problem and others. @default none is known */
  readonly cause?: string;
}

export function notificationFields(notification: Notification, timeZone?: string): NotificationFields {
  const { id, check, title, event, condition, previous, output, detail } = notification;
  return {
    ...{ id, check, title, event, condition, previous, output, detail },
    problem_began_at: isoTime(notification.problemBeganAtMs),
    decided_at: isoTime(notification.decidedAtMs),
    occurrences: notification.occurrences,
    next_run_at: isoTime(notification.nextRunAtMs),
    host: notification.hostName,
    acknowledged: notification.acknowledged,
    flapping: notification.flapping,
    dependents: notification.dependents,
    ...notification.cause !== undefined && { cause: describeCause(notification.cause, timeZone) },
  };
}

/** The most of an output and of a detail that goes to a receiver. */
export const ITEM_TEXT_MAX: TextMax = { output: 8 * 1024, detail: 64 * 1024 };
const HEADLINE_LENGTH_MAX = 500;
/** Half of it for outputs, half for details of all items: many servers accept no more than a megabyte. */
const SHARED_LENGTH_MAX = 512 * 1024;

interface ItemFields extends NotificationFields, CheckFacts {
  /** As in `Shop is down: status is 503, expected 200`. */
  readonly headline: string;
  readonly test: boolean;
  /** The problem that recovered before it was sent; then the rest is its recovery. `null` otherwise. */
  readonly missed_problem: NotificationFields | null;
  /** Older problems, of any check, that recovered before they could be sent and are not listed. */
  readonly summarized: number;
  /** The fields of a summary. @default none */
  readonly summary?: unknown;
}

/** Returns the facts of the config about a check, its time zone, and the duration of the problem, as texts; empty: none. */
export function factTexts(
  { notification, timeZone = "UTC", facts = {} }: MessageItem,
): Readonly<Record<keyof CheckFacts | "duration" | "time_zone", string>> {
  const { url, acknowledge_url, kind, target, tags, description, runbook } = facts;
  return {
    url: url ?? "",
    acknowledge_url: acknowledge_url ?? "",
    kind: kind ?? "",
    target: target ?? "",
    tags: (tags ?? []).join(", "),
    description: description ?? "",
    runbook: runbook ?? "",
    duration: lasted(notification),
    time_zone: timeZone,
  };
}

/** Returns the fields of an item; the items of a message share the space for output and detail. */
export function itemFields(
  item: MessageItem,
  { isTest, itemCount }: { readonly isTest: boolean; readonly itemCount: number },
): ItemFields {
  const { summary } = item.notification;
  const share = Math.floor(SHARED_LENGTH_MAX / 2 / itemCount);
  const bounded = (notification: Notification): NotificationFields => ({
    ...notificationFields(notification, item.timeZone),
    output: truncate(notification.output, Math.min(ITEM_TEXT_MAX.output, share)),
    detail: truncate(notification.detail, Math.min(ITEM_TEXT_MAX.detail, share)),
  });
  return {
    ...bounded(item.notification),
    headline: `${isTest ? "TEST " : ""}${headline(item, Math.min(HEADLINE_LENGTH_MAX, share / 4))}`,
    test: isTest,
    missed_problem: item.missedProblem === null ? null : bounded(item.missedProblem),
    summarized: item.summarized,
    ...item.facts,
    ...summary !== undefined && { summary: JSON.parse(summary.json) },
  };
}
