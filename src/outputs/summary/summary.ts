/** The events of the checks in a period. Times are wall time, milliseconds since 1970. */
import type { ResultState } from "../../domain/check_kind.ts";
import type { Condition } from "../../domain/condition.ts";
import type { Objective } from "../../domain/limits.ts";
import type { MonitorStatus } from "../json/monitor_fields.ts";

/** The first items of a list, and how many there are. */
export interface Bounded<T> {
  /** At most 100. */
  readonly items: readonly T[];
  readonly count: number;
}

/** A check as people call it. */
export interface NamedCheck {
  readonly name: string;
  /** `null` without one. */
  readonly title: string | null;
}

/** A time without interruption in which a check was down: confirmed as `critical` or `unknown`. */
export interface Outage extends NamedCheck {
  /** The highest severity in it. */
  readonly condition: Condition;
  /** May be before the period. */
  readonly fromMs: number;
  /** When it recovered, when it was last observed, or the end of the period. */
  readonly toMs: number;
  /** How it is at the end of the period; `unobserved`: the check is overdue then. */
  readonly end: "recovered" | "still_down" | "unobserved";
  /** Whether nothing ran in a part of it, such as while the monitor was stopped. */
  readonly hasGap: boolean;
  /** Of the result that began it; one line, may be empty. */
  readonly output: string;
}

/** An objective, compared with the time that ends with the period. */
export interface ObjectiveResult extends Objective {
  /** The share of the observed time in which the check was up, 0 to 1; `null`: no data. */
  readonly availability: number | null;
  /** How long the check may be down, in proportion to the observed time. */
  readonly budgetMs: number;
  /** How long it was down. */
  readonly usedMs: number;
  /** `null`: less than a tenth of its time was observed, which is too little to say. */
  readonly isMissed: boolean | null;
}

export interface CheckAvailability extends NamedCheck {
  /** The share of the observed time in which it was up, 0 to 1; `null`: no data. */
  readonly availability: number | null;
  readonly downMs: number;
  readonly observedMs: number;
  /** `null` without one. */
  readonly objective: ObjectiveResult | null;
}

export interface SlowCheck extends NamedCheck {
  readonly meanMs: number;
  /** `null`: not known. */
  readonly maxMs: number | null;
  /** Of the period before, which is as long; `null`: no data. */
  readonly previousMeanMs: number | null;
}

export interface ChangingCheck extends NamedCheck {
  /** Changes of the confirmed condition in the period. */
  readonly changes: number;
  readonly isFlapping: boolean;
}

/** A check without observed time. */
export interface UnobservedCheck extends NamedCheck {
  /** More than 0: it was pending or unknown after each run. */
  readonly runs: number;
  /** Why, in the words of `monitor status`. */
  readonly reason: string;
}

/** A check whose stored condition does not count at the end. */
export interface StaleCheck extends NamedCheck {
  readonly state: ResultState;
  /** In the words of `monitor status`. */
  readonly reason: string;
}

export interface RemovedCheck extends NamedCheck {
  /** `null`: it never ran. */
  readonly lastRunAtMs: number | null;
}

export interface Undelivered {
  readonly channel: string;
  readonly dropped: number;
  /** They failed, and are retried. */
  readonly pending: number;
  /** The reason of the last failure. */
  readonly reason: string;
}

export interface Summary {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly timeZone: string;
  readonly hostName: string;
  /** The process that runs the checks; `null`: it makes the summary, or none is recorded. */
  readonly monitor: MonitorStatus | null;
  /** What the reader must know of that: lines. */
  readonly notes: readonly string[];
  /** The checks that it is about: active ones. */
  readonly checks: number;
  /** How many of them were down at some time. */
  readonly downChecks: number;
  /** How many are down at the end. */
  readonly stillDown: number;
  /** How many have failed, and have no confirmed condition at the end. */
  readonly pendingChecks: number;
  /** How many are unknown at the end: overdue, not run since they were edited, or no service runs them. */
  readonly unknownChecks: number;
  /** The same without those that no service runs, which one of the notes covers. */
  readonly stale: Bounded<StaleCheck>;
  readonly removed: Bounded<RemovedCheck>;
  /** The longest time for which a check has data. */
  readonly observedMs: number;
  /** How long they were down together. */
  readonly downMs: number;
  /** How many were `warning` at some time. */
  readonly warningChecks: number;
  readonly objectives: number;
  readonly missedObjectives: number;
  /** The longest first, those that last before all others. */
  readonly outages: Bounded<Outage>;
  /** The same of jobs: they failed or were overdue. */
  readonly jobs: Bounded<Outage>;
  /** Checks that were down, or have an objective and data: missed objectives first, then the lowest availability. */
  readonly availability: Bounded<CheckAvailability>;
  readonly slowest: readonly SlowCheck[];
  /** Checks that flap, or changed often. */
  readonly flapping: Bounded<ChangingCheck>;
  /** The first to expire first; expired ones included. */
  readonly certificates: Bounded<NamedCheck & { readonly expiresAtMs: number }>;
  readonly withoutData: Bounded<UnobservedCheck>;
  /** How many checks have data of a part of the period only. */
  readonly partlyObserved: number;
  readonly undelivered: Bounded<Undelivered>;
}
