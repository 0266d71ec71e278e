import type { Condition } from "./condition.ts";
import type { NotificationEvent } from "./condition_state.ts";

/** A notification of a check. Times are wall time, milliseconds since 1970. */
export interface Notification {
  /** Unique; the same in every channel and at every attempt. Letters, digits and `-`. */
  readonly id: string;
  readonly check: string;
  /** The check's title; `null` if the config has none. */
  readonly title: string | null;
  readonly event: NotificationEvent;
  readonly condition: Condition;
  readonly previous: Condition;
  /** Of the observation that decided it: one line without secrets, may be empty. */
  readonly output: string;
  /** The further lines of that observation, without secrets; often empty. */
  readonly detail: string;
  /** The first result that was not `ok` of the notified problem; in a recovery, of the problem that ended. */
  readonly problemBeganAtMs: number;
  readonly decidedAtMs: number;
  /** Observations in a row at least as bad as the last one; for `ok`: in a row. */
  readonly occurrences: number;
  readonly nextRunAtMs: number;
  /** The machine it was decided on. */
  readonly hostName: string;
  /** The note of an administrator who has acknowledged the problem, which may be empty; `null`: none has. */
  readonly acknowledged: string | null;
  /** Whether the check changes too often. */
  readonly flapping: boolean;
  /** How many checks depend on the check, also by way of others; their problems are suppressed. 0 in a recovery. */
  readonly dependents: number;
}
