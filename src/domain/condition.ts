/** Lowest severity first: a detected problem (`warning`, `critical`) is more severe than missing data (`unknown`). */
export const CONDITIONS = ["ok", "unknown", "warning", "critical"] as const;

export type Condition = typeof CONDITIONS[number];

/** A condition as it is shown. `pending`: none is confirmed, or a first cron time is to come. */
export type ShownCondition = Condition | "pending";

/** In the order in which they are shown, the most urgent last. */
export const SHOWN_CONDITIONS = [
  "ok",
  "pending",
  "unknown",
  "warning",
  "critical",
] as const satisfies readonly ShownCondition[];

/** Returns the condition that counts, for exit codes and the like: nothing is known about a pending check. */
export function countedAs(shown: ShownCondition): Condition {
  return shown === "pending" ? "unknown" : shown;
}

export function mostUrgentFirst(one: ShownCondition, other: ShownCondition): number {
  return SHOWN_CONDITIONS.indexOf(other) - SHOWN_CONDITIONS.indexOf(one);
}

export function eachCondition<Value>(
  valueOf: (condition: Condition) => Value,
): Readonly<Record<Condition, Value>> {
  return {
    ok: valueOf("ok"),
    unknown: valueOf("unknown"),
    warning: valueOf("warning"),
    critical: valueOf("critical"),
  };
}

/** Returns the severity of a condition: 0 for `ok` to 3 for `critical`. */
export function severity(condition: Condition): number {
  return CONDITIONS.indexOf(condition);
}

/** The condition with the highest severity; `ok` when there are none. */
export function highestSeverity(conditions: Iterable<Condition>): Condition {
  let result: Condition = "ok";
  for (const condition of conditions) {
    if (severity(condition) > severity(result)) result = condition;
  }
  return result;
}

/**
 * Returns what is known of the time between two results that follow each other. An outage began and ended at an unknown
 * time between them, and of a check that is `unknown` it is not known whether the target was up. A warning is no outage.
 */
export function timeBetween(before: Condition, after: Condition): "up" | "down" | "uncertain" {
  if (isUp(before) && isUp(after)) return "up";
  return before === "critical" && after === "critical" ? "down" : "uncertain";
}

function isUp(condition: Condition): boolean {
  return condition === "ok" || condition === "warning";
}

/** The exit code of each condition (plugin convention); metrics use the same numbers. */
export const CONDITION_CODES: Readonly<Record<Condition, number>> = {
  ok: 0,
  warning: 1,
  critical: 2,
  unknown: 3,
};

/**
 * The event of a notification: from `ok` to a problem, between problems, back to `ok`, a reminder, or that the error
 * budget is used up too fast, without a problem.
 */
export type NotificationEvent = "problem" | "change" | "recovery" | "reminder" | "burning";

/** The downtime in a span of time that begins at a time; milliseconds. */
export interface Downtime {
  readonly atMs: number;
  readonly downMs: number;
}

/** The error budget of a check is used up too fast. */
export interface BurnAlert {
  /** The burn rate that was reached, in a short and in a long window. */
  readonly rate: number;
  readonly sinceMs: number;
  /** Whether its notification was decided, or a problem of the check is notified. */
  readonly isTold: boolean;
}

/** The downtime of a check with an objective, by `src/condition/burn.ts`. */
export interface Burn {
  /** Of the last 6 hours, in spans of 5 minutes; those without downtime are left out. */
  readonly recent: readonly Downtime[];
  /** Of the time of the objective, in days in UTC. */
  readonly days: readonly Downtime[];
  /** `null`: it does not burn too fast. */
  readonly alert: BurnAlert | null;
}

/** A run of the action of a check. Times are wall time, milliseconds since 1970. */
export interface ActionRun {
  /** When it was decided; persisted before it starts. */
  readonly atMs: number;
  /** `null`: it is in progress, or the process that started it died. */
  readonly endedAtMs: number | null;
  readonly outcome: "none" | "succeeded" | "failed" | "not_started";
  /** Why it failed, without secrets; empty otherwise. */
  readonly reason: string;
}

/** `action`: it waits until the action of the check did not help. `overtaken`: another member has decided meanwhile, and the notifications of its channels are not read yet. */
export type Suppression =
  | "silence"
  | "until_ok"
  | "flapping"
  | "maintenance"
  | "no_notify"
  | "dependency"
  | "action"
  | "overtaken"
  | "late";

export type ConditionCounts = Readonly<Record<Condition, number>>;

/** A time for each condition, milliseconds since 1970; `null`: never. `pending`: none was confirmed. */
export type ConditionTimes = Readonly<Record<ShownCondition, number | null>>;

/**
 * The state of one check between two results. A plain value: a restart continues from its JSON. Times are wall time,
 * milliseconds since 1970.
 *
 * The attentive interval applies (see `isAttentive` in `src/condition`) while `problemBeganAtMs` is a number.
 */
export interface ConditionState {
  /**
   * The confirmed condition; `null` while there is none. The first result that is `ok` confirms that at once. Until a
   * condition is confirmed, the check is pending: it is not `ok`, and nothing is sent. A confirmed `ok` becomes pending if
   * the first result after a time without runs is not `ok`.
   */
  readonly confirmed: Condition | null;
  /** The time of the check result that confirmed it; `null` without one. */
  readonly confirmedSinceMs: number | null;
  /** When the confirmed condition last changed from each; `null` for an `ok` that is no longer known. */
  readonly leftAtMs: ConditionTimes;
  /** How many results in a row, up to the last one, were at least of that severity. */
  readonly atLeast: ConditionCounts;
  /** How many results in a row, up to the last one, were at most of that severity. */
  readonly atMost: ConditionCounts;
  /** The newest results, see `addResult` in `condition_state.ts`. */
  readonly recent: string;
  /** How many of these came after the confirmed condition was last lowered. */
  readonly sinceLowered: number;
  /** Since when the check changes too often; `null` if it does not. */
  readonly flappingSinceMs: number | null;
  /** The condition of the last check result; `null` before the first one, and if that only awaits the first run of a job. */
  readonly observed: Condition | null;
  /** Time of the last result; `null` before the first. */
  readonly observedAtMs: number | null;
  /**
   * The first check result that was not `ok` of the problem that is confirmed, or that may become confirmed, or the
   * earlier time at which the problem began by that result; `null` while there is none. An `ok` in a confirmed problem does not end it, a recovery does.
   */
  readonly problemBeganAtMs: number | null;
  /** The condition last notified, `ok` at first. While it differs from `confirmed`, a notification is suppressed. */
  readonly notified: Condition;
  /** The last notification of any event; an escalation to further channels does not count. */
  readonly notifiedAtMs: number | null;
  /** When notifications of the confirmed condition were first decided and not suppressed, since it changed; `null` before. */
  readonly notifiedSinceMs: number | null;
  /** How many reminders there were since the last notification that is none. */
  readonly reminders: number;
  /** When the problem last notified began, also after its recovery; `null` before the first. */
  readonly notifiedProblemBeganAtMs: number | null;
  /** The newest runs of its action, the oldest first. @default none */
  readonly actions?: readonly ActionRun[];
  /** How it uses up its error budget. @default nothing was down, or it has no objective */
  readonly burn?: Burn;
}
