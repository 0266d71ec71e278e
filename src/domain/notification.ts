import type { Condition, ShownCondition } from "./condition.ts";
import type { NotificationEvent } from "./condition_state.ts";

/** The renderings of a summary, besides its text. */
export interface RenderedSummary {
  /** A whole page. */
  readonly html: string;
  /** Its fields in JSON. */
  readonly json: string;
}

/** A notification of a check, or a summary, whose detail is its text. Times are wall time, milliseconds since 1970. */
export interface Notification {
  /** Unique; the same in every channel and at every attempt. Letters, digits and `-`. */
  readonly id: string;
  readonly check: string;
  /** The check's title; `null` if the config has none. */
  readonly title: string | null;
  readonly event: NotificationEvent | "summary";
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
  /** With the event `summary`; it is sent alone. @default none */
  readonly summary?: RenderedSummary;
}

/** Returns whether the config no longer runs the check: its problem ended for the receiver, and may well go on. */
export function isNoLongerChecked({ event, condition }: Pick<Notification, "event" | "condition">): boolean {
  return event === "recovery" && condition === "unknown";
}
