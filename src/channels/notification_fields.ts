import type { TextMax } from "../domain/channel_kind.ts";
import type { MessageItem } from "../domain/delivery.ts";
import type { Notification } from "../domain/notification.ts";
import { truncate } from "../shared/truncate.ts";

/**
 * A notification for machines: a webhook's JSON, a command's input, an `ndjson` event. Fields are only ever added.
 */
interface NotificationFields {
  /** The same in every channel and at every attempt. */
  readonly id: string;
  readonly check: string;
  /** The check's title; `null` without one. */
  readonly title: string | null;
  readonly event: Notification["event"];
  readonly condition: Notification["condition"];
  readonly previous: Notification["previous"];
  readonly output: string;
  readonly detail: string;
  /** ISO 8601, UTC, with milliseconds; so are the other times. */
  readonly problem_began_at: string;
  readonly decided_at: string;
  /** Consecutive check results of at least the severity of the last one; for `ok`: that were `ok`. */
  readonly occurrences: number;
  readonly next_run_at: string;
  /** The machine it was decided on. */
  readonly host: string;
  /** The note of an acknowledgement, which may be empty; `null` without one. */
  readonly acknowledged: string | null;
  /** Whether the check changes too often. */
  readonly flapping: boolean;
  /** How many checks depend on it, whose problems are suppressed. */
  readonly dependents: number;
}

export function notificationFields(notification: Notification): NotificationFields {
  return {
    id: notification.id,
    check: notification.check,
    title: notification.title,
    event: notification.event,
    condition: notification.condition,
    previous: notification.previous,
    output: notification.output,
    detail: notification.detail,
    problem_began_at: isoTime(notification.problemBeganAtMs),
    decided_at: isoTime(notification.decidedAtMs),
    occurrences: notification.occurrences,
    next_run_at: isoTime(notification.nextRunAtMs),
    host: notification.hostName,
    acknowledged: notification.acknowledged,
    flapping: notification.flapping,
    dependents: notification.dependents,
  };
}

/** An item of a message: its notification, whether it is a test, and the problem that recovered before it was sent. */
interface ItemFields extends NotificationFields {
  readonly test: boolean;
  /** The problem that recovered before it was sent; then the rest is its recovery. `null` otherwise. */
  readonly missed_problem: NotificationFields | null;
  /** Older problems, of any check, that recovered before they could be sent and are not listed. */
  readonly summarized: number;
  /** The fields of a summary. @default none */
  readonly summary?: unknown;
}

interface ItemTelling {
  readonly isTest: boolean;
  /** The number of items in the message; they share its space. */
  readonly itemCount: number;
}

/** The most of an output and of a detail that goes to a receiver. */
export const ITEM_TEXT_MAX: TextMax = { output: 8 * 1024, detail: 64 * 1024 };
/**
 * The maximum total length of the outputs and of the details of all items, half each: many servers accept no more
 * than a megabyte.
 */
const SHARED_LENGTH_MAX = 512 * 1024;

/** Returns the fields of an item, with an output and a detail of a size that receivers accept. */
export function itemFields(item: MessageItem, { isTest, itemCount }: ItemTelling): ItemFields {
  const { summary } = item.notification;
  const share = Math.floor(SHARED_LENGTH_MAX / 2 / itemCount);
  const bounded = (notification: Notification): NotificationFields => ({
    ...notificationFields(notification),
    output: truncate(notification.output, Math.min(ITEM_TEXT_MAX.output, share)),
    detail: truncate(notification.detail, Math.min(ITEM_TEXT_MAX.detail, share)),
  });
  return {
    ...bounded(item.notification),
    test: isTest,
    missed_problem: item.missedProblem === null ? null : bounded(item.missedProblem),
    summarized: item.summarized,
    ...summary !== undefined && { summary: JSON.parse(summary.json) },
  };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
