import type { Condition } from "./condition.ts";
import type { ConditionCounts, ConditionState } from "./condition_state.ts";

/** The last result of a check, as it is kept. */
export interface KeptResult {
  readonly condition: Condition;
  readonly output: string;
  readonly detail: string;
  readonly performanceData: string;
  /** Wall time, milliseconds since 1970. */
  readonly startedAtMs: number;
  readonly durationMs: number;
}

/** What is kept of one check. Times are wall time, milliseconds since 1970. Every number is finite. */
export interface CheckRecord {
  readonly name: string;
  readonly condition: ConditionState;
  /** `null` before the first result. */
  readonly last: KeptResult | null;
  /** When it is to run next; `null` while nobody has planned it. */
  readonly nextRunAtMs: number | null;
  /** The interval that applied when it was planned; tells when it is overdue. */
  readonly intervalMs: number;
  /** Runs that were left out because the one before had not ended, or the machine slept. */
  readonly missedRuns: number;
  /** The last time that the document had this check; a check that left is forgotten some time after. */
  readonly seenAtMs: number;
}

/** A move of a check's settled condition. */
export interface ConditionChange {
  readonly name: string;
  readonly atMs: number;
  readonly from: Condition;
  readonly to: Condition;
  /** The output of the observation that decided it. */
  readonly output: string;
}

/** What one run adds to the roll-up of its hour. */
export interface RollupEntry {
  /** The end of the run. */
  readonly atMs: number;
  readonly condition: Condition;
  readonly durationMs: number;
  /** The time since the run before, which the settled condition of then lasted; 0 where nobody looked. */
  readonly lastedMs: number;
  readonly lasted: Condition;
}

/** The sums of an hour, or later of a day. */
export interface Rollup {
  readonly name: string;
  /** Start of the span, wall time, on the hour or on the day in UTC. */
  readonly startMs: number;
  readonly spanMs: number;
  /** Observations by condition. */
  readonly observed: ConditionCounts;
  /** How long each condition was the settled one, in milliseconds. */
  readonly lastedMs: ConditionCounts;
  readonly durationTotalMs: number;
  readonly durationMaxMs: number;
}

/** Everything that one run of a check changes; kept whole or not at all. The change is one of the record's check. */
export interface CheckUpdate {
  readonly record: CheckRecord;
  readonly rollup: RollupEntry | null;
  readonly change: ConditionChange | null;
}

/** Why the state cannot be read or written; `missing`: it is to be read, and nobody has kept anything yet. */
export type StoreFailure = "full" | "busy" | "damaged" | "denied" | "missing" | "other";

/** Thrown by a store; what was to be kept is not kept, what was kept before is. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly failure: StoreFailure;

  constructor(message: string, failure: StoreFailure, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

/** How far forgetting has come. */
export interface PruneProgress {
  readonly finished: boolean;
}

/**
 * What a monitor remembers. Asynchronous throughout, so that a shared database can stand behind it. Every method
 * rejects with a {@linkcode StoreError}.
 */
export interface Store {
  /** All records, of checks that left the document too. */
  records(): Promise<readonly CheckRecord[]>;
  /** Keeps some runs in one transaction, in order. Durable once this resolves. */
  save(updates: readonly CheckUpdate[]): Promise<void>;
  /** The changes of one check from a time on, the newest first. */
  changes(
    name: string,
    options: { readonly sinceMs: number; readonly limit: number },
  ): Promise<readonly ConditionChange[]>;
  /** The roll-ups of one check whose span ends after a time, the oldest first. */
  rollups(name: string, sinceMs: number): Promise<readonly Rollup[]>;
  /**
   * Forgets what is too old: checks not seen for 30 days, changes after 400 days and beyond the newest 1,000 of a
   * check, roll-ups after 100 days; roll-ups of days (in UTC) that ended 8 days ago become daily ones.
   *
   * One call does as much as may be done without holding up anything else, and says whether that was all; if it
   * was not, call again when there is time.
   */
  prune(nowMs: number): Promise<PruneProgress>;
  /** Ends the use of it; every later call but this one rejects. */
  close(): Promise<void>;
}
