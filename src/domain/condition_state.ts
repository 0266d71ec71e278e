import type { Condition } from "./condition.ts";

/** What a notification tells: from `ok` to a problem, between problems, back to `ok`, or the same problem once more. */
export type NotificationEvent = "problem" | "change" | "recovery" | "reminder";

/** What suppresses a notification. */
export type Suppression = "silence" | "until_ok" | "maintenance" | "no_notify" | "dependency";

/** A number of observations for each condition. */
export type ConditionCounts = Readonly<Record<Condition, number>>;

/**
 * What is remembered of one check between two observations. A plain value: it survives JSON, and a restart goes
 * on from it as if nothing had been. Times are wall time, milliseconds since 1970.
 *
 * The check is being watched (see `isAttentive` in `src/condition`) exactly while `problemBeganAtMs` is a number.
 */
export interface ConditionState {
  /** The condition the check is taken to have; `ok` before the first observation. */
  readonly confirmed: Condition;
  /** The observation that confirmed it, or the first one of all; `null` before the first. */
  readonly confirmedSinceMs: number | null;
  /** How many observations in a row, up to the last one, were at least that bad. */
  readonly atLeast: ConditionCounts;
  /** How many observations in a row, up to the last one, were at most that bad. */
  readonly atMost: ConditionCounts;
  /** The condition last observed; `null` before the first observation. */
  readonly observed: Condition | null;
  /** When that was; `null` before the first observation. */
  readonly observedAtMs: number | null;
  /**
   * The first observation that was not `ok` of the problem that is confirmed, or that may become confirmed; `null`
   * while there is none. An `ok` in a confirmed problem does not end it, a recovery does.
   */
  readonly problemBeganAtMs: number | null;
  /** The condition last notified, `ok` before the first notification. While it differs from `confirmed`, a notification is suppressed. */
  readonly notified: Condition;
  /** The last notification of any event. */
  readonly notifiedAtMs: number | null;
  /** When the problem last notified began, also after its recovery; `null` before the first. */
  readonly notifiedProblemBeganAtMs: number | null;
}
