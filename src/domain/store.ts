import type { Awaited, Check, Result } from "./check.ts";
import type { Condition, ConditionCounts, ConditionState, ShownCondition } from "./condition.ts";
import type { MonitorRun } from "./monitor_run.ts";
import type { NewReport, ReportStore } from "./reports.ts";
import type {
  ChannelCount,
  DeliveryMarker,
  LoggedDelivery,
  OutboxChange,
  PageAction,
  QueuedNotification,
  Silence,
} from "./outbox.ts";

/** A result without secrets; every metric is finite. Its `report` is the last one of an agent that was recorded. */
export interface KeptResult extends
  Pick<
    Result,
    | "condition"
    | "output"
    | "detail"
    | "performanceData"
    | "metrics"
    | "startedAtMs"
    | "durationMs"
    | "locations"
    | "memory"
    | "report"
    | "isLate"
    | "attributes"
  > {
  /** How long after its planned time it began, 0 or more; `null` if it was not planned. */
  readonly lateMs: number | null;
  /** The definition of the check at the run; absent: unknown. */
  readonly definition?: string;
}

/** How long the runs of a check took that were ok, see `src/condition/duration_rule.ts`. Times are hours and parts since 1970. */
export interface DurationHistory extends UsualDurations {
  /** The limits by which the runs were counted. */
  readonly rule: string;
  /** Its part of time, then of each limit the runs that count and those that took longer. */
  readonly parts: readonly (readonly number[])[];
  /** Those that a clock which was set returns to. */
  readonly otherUsual?: UsualDurations;
}

export interface UsualDurations {
  /** The hour of the last run; 0 if nothing is usual. */
  readonly hour: number;
  /** The durations in it: level and number of runs; of a measured value, its histogram alone. */
  readonly levels: readonly (readonly number[])[];
  /** The median of each hour of four weeks, a character each, of a measured value three, by the hour modulo their number. */
  readonly medians: string;
}

/** The same of each measured value that has limits, by name: values instead of durations. */
export type MetricHistory = Readonly<Record<string, DurationHistory>>;

/**
 * Of each measured value, by name: how often there was one, their total, the lowest and the highest, and their histogram as
 * `src/shared/histograms.ts` has it; of an hour that a monitor without histograms wrote to, none, or fewer values.
 */
export type MetricSums = Readonly<Record<string, readonly number[]>>;

/** The measured values of an hour up to now. */
export interface MetricHour {
  readonly startMs: number;
  readonly sums: MetricSums;
}

export interface LastMetricHour extends MetricHour {
  /** Those that a clock which was set returns to. */
  readonly others?: readonly MetricHour[];
}

export interface NamedMetricHour extends MetricHour {
  /** The name of the check. */
  readonly name: string;
}

/** The stored record of one check. Times are wall time, milliseconds since 1970. Every number is finite. */
export interface CheckRecord {
  /** The check's name in the config; unique among records. */
  readonly name: string;
  readonly condition: ConditionState;
  /** `null` before the first result. */
  readonly last: KeptResult | null;
  /** The texts of the last result that was not ok, while a problem is confirmed and `last` is ok; otherwise `null`. */
  readonly failing: Pick<KeptResult, "output" | "detail"> | null;
  /** The next planned run; `null` if there is none. */
  readonly nextRunAtMs: number | null;
  /** When the check is overdue, by its schedule and its timeout at its last run; `null` before the first. */
  readonly overdueAtMs: number | null;
  /** Runs that were skipped because the one before had not ended, or the system was suspended. */
  readonly missedRuns: number;
  /** Whether it was read from a state that others share, so that its times may be of their clocks. @default false */
  readonly isShared?: boolean;
  /** The number of all recorded runs, by condition; never decreases. */
  readonly runs: ConditionCounts;
  /** The time that all of these took together; never decreases. */
  readonly durationTotalMs: number;
  /** The last time that the config had this check; a check that left is forgotten some time after. */
  readonly seenAtMs: number;
  /** What its `duration` is decided by; `null`: it has none, or has not been ok yet. */
  readonly durationHistory: DurationHistory | null;
  /** What its `metrics` are decided by; `null`: it has none, or has not been ok yet. */
  readonly metricHistory: MetricHistory | null;
  /** The values that it measured in the hour of the last run with values; `null`: none. */
  readonly metricHour: LastMetricHour | null;
  /** The newest rows of its journal, packed by `src/state/journal.ts`; `null` before the first result. */
  readonly journal: Uint8Array | null;
}

/** Returns whether the last run of a record was of another kind or other parameters, or from a place no longer named. */
export function isEdited(
  { definition, locations }: Pick<Check, "definition" | "locations">,
  { last }: Pick<CheckRecord, "last">,
): boolean {
  if (last?.definition === undefined || definition === undefined) return false;
  if (last.definition !== definition) return true;
  if (last.locations === undefined) return locations !== undefined;
  return last.locations.some(({ location, condition }) =>
    condition !== null && locations?.from.includes(location) !== true
  );
}

export interface ConditionChange {
  readonly name: string;
  /** When the run that decided it ended; wall time, milliseconds since 1970. */
  readonly atMs: number;
  /** The condition that was confirmed before. */
  readonly from: ShownCondition;
  /** The condition confirmed from then on; never the same as `from`. */
  readonly to: Condition;
  /** The output of the result that decided it; a store keeps its first 1,024 bytes. */
  readonly output: string;
  /** The trace of the run that decided it; empty: it was not traced, or the condition is `ok`. */
  readonly trace: string;
}

export interface ChangePlace {
  readonly atMs: number;
  /** How many changes of that very time the reader has already. */
  readonly skip: number;
}

/** The values that one run adds to the roll-up of its hour. */
export interface RollupEntry {
  readonly atMs: number;
  /** `null`: no run that counts, but the time since the previous one does. */
  readonly condition: Condition | null;
  /** How long the run took; may have a fraction. 0 without one. */
  readonly durationMs: number;
  /** The time since the previous run, if that was observed; else 0. See `src/state/availability.ts`. */
  readonly lastedMs: number;
  /** The end of that time. @default atMs */
  readonly lastedUntilMs?: number;
  /** Wall time at which it is stored: what is old by then is added to days, not to hours. @default atMs */
  readonly storedAtMs?: number;
  /** The condition that was confirmed during `lastedMs`, so before this run; any if that is 0. */
  readonly lasted: Condition;
  /** How many runs in a row failed (were not ok), up to this one; 0 if it is ok. */
  readonly failedStreak: number;
  /** The values that were measured in its hour up to it. @default those that are stored */
  readonly metrics?: MetricSums;
}

export interface RecentRun {
  readonly endedAtMs: number;
  readonly condition: Condition;
  /** Its duration in milliseconds, to seven digits. */
  readonly durationMs: number;
}

export interface RecentRuns {
  readonly name: string;
  /** The last one first; at most 50. */
  readonly runs: readonly RecentRun[];
}

/** The sums of an hour, or later of a day. */
export interface Rollup {
  readonly name: string;
  /** Start of the span, wall time, on the hour or on the day in UTC. */
  readonly startMs: number;
  /** Length of the span: an hour or a day, in milliseconds. */
  readonly spanMs: number;
  readonly observed: ConditionCounts;
  /** How long each condition was the confirmed one in the span, in milliseconds, as far as that was observed. */
  readonly lastedMs: ConditionCounts;
  /** The total duration of its runs; divided by `observed` it is their mean. */
  readonly durationTotalMs: number;
  /** The time that its longest run took. */
  readonly durationMaxMs: number;
  /**
   * How many of its runs took how long, by the buckets of `src/shared/histograms.ts`; of a span that a monitor
   * without histograms wrote to, fewer than its runs.
   */
  readonly durations: readonly number[];
  /** The most runs in a row that failed, up to a run in the span; such a streak may have begun before it. */
  readonly failedStreakMax: number;
  /** The values that were measured in an hour; `null`: none, or a day. */
  readonly metrics: MetricSums | null;
}

/** The spans of sums of roll-ups. */
export type SumSpan = "hour" | "day" | "check";

/** Of some roll-ups; it starts with the hour, the day in UTC, or the first of them. */
export interface RollupSum extends Omit<Rollup, "spanMs" | "observed" | "metrics"> {
  readonly runs: number;
  readonly failedRuns: number;
}

/** Everything that one run of a check changes; kept whole or not at all. The change is one of the record's check. */
export interface CheckUpdate {
  readonly record: CheckRecord;
  /** `null` where no run is to be counted: the record alone changed. */
  readonly rollup: RollupEntry | null;
  /** `null` if the confirmed condition stays. */
  readonly change: ConditionChange | null;
  /** Its notifications, one row for each channel; each replaces a stored one of the same id. */
  readonly queued: readonly QueuedNotification[];
  /** The rows of the journal that left the record. @default none */
  readonly journal?: JournalBlock;
  /** What is to be reported to another monitor. @default nothing */
  readonly report?: NewReport;
}

/**
 * Why the state can't be read or written.
 *
 * - `missing`: it is to be read, and nothing has been stored yet.
 * - `unreachable`: its server does not respond, which may end by itself.
 */
export type StoreFailure = "full" | "busy" | "damaged" | "denied" | "missing" | "unreachable" | "other";

/** Thrown by a store; nothing of the failed operation is persisted. */
export class StoreError extends Error {
  override readonly name = "StoreError";

  /** The message has the action, the file, the reason and a fix, without a final period. */
  constructor(message: string, readonly failure: StoreFailure, options?: ErrorOptions) {
    super(message, options);
  }
}

/** The summary that was queued last, or the time of the first search for one. */
export interface QueuedSummary {
  /** Its cron expression and time zone: with another one, it begins again. */
  readonly schedule: string;
  /** Its scheduled time; wall time, milliseconds since 1970. */
  readonly scheduledMs: number;
}

export interface KeptOutbox {
  readonly notifications: readonly QueuedNotification[];
  /** In the order in which they were first set. */
  readonly markers: readonly DeliveryMarker[];
  /** The counts of each channel, in the order in which they were first counted. */
  readonly counts: readonly ChannelCount[];
}

export const NOTHING_KEPT: KeptOutbox = { notifications: [], markers: [], counts: [] };

export interface PruneProgress {
  readonly finished: boolean;
  /** The names of the checks that this call forgot, with all that was kept of them. */
  readonly forgotten: readonly string[];
}

/** The checks of a stored state, their changes and roll-ups. */
export interface CheckStore {
  records(): Promise<readonly CheckRecord[]>;
  /**
   * Keeps some runs in one transaction, in order. Durable once this resolves. Updates of a check that another process has
   * written since this store read or wrote it are not kept: returns the present records of these checks.
   */
  save(updates: readonly CheckUpdate[]): Promise<readonly CheckRecord[]>;
  /** The changes of one check from a time on, the newest first; `src/state/read_store.ts` reads all of them page by page. */
  changes(
    name: string,
    options: { readonly sinceMs: number; readonly limit: number; readonly from?: ChangePlace },
  ): Promise<readonly ConditionChange[]>;
  /** The newest changes of some checks together, without their traces, the newest first; those of one time in any order. */
  latestChanges(names: readonly string[], limit: number): Promise<readonly ConditionChange[]>;
  /** The roll-ups of one check whose span ends after a time, the oldest first. */
  rollups(name: string, sinceMs: number): Promise<readonly Rollup[]>;
  /**
   * The roll-ups of many checks whose span ends after a time and does not begin after another, added up here, since they may
   * be very many: to days in UTC, or to one sum a check; or those of hours alone, as they are. In no order of checks, the
   * oldest first of each.
   */
  rollupSums(
    names: readonly string[],
    options: { readonly sinceMs: number; readonly untilMs: number; readonly each: SumSpan },
  ): Promise<readonly RollupSum[]>;
  /**
   * The measured values of some checks in the hours that end after a time and do not begin after another, in no order; an
   * hour without any is left out.
   */
  metricHours(
    names: readonly string[],
    span: { readonly sinceMs: number; readonly untilMs: number },
  ): Promise<readonly NamedMetricHour[]>;
  /** The last 50 runs of some checks, in no order of checks; a check that never ran is left out. */
  recentRuns(names: readonly string[]): Promise<readonly RecentRuns[]>;
  /**
   * The results of some checks that are in a span of time at least in part, whole rows, in no order of checks; a check
   * without any is left out.
   */
  journal(
    names: readonly string[],
    span: { readonly sinceMs: number; readonly untilMs: number },
  ): Promise<readonly CheckJournal[]>;
}

/** Its queued notifications and summary, and its silences. */
export interface OutboxStore {
  outbox(): Promise<KeptOutbox>;
  /**
   * Keeps the outcome of deliveries, in one transaction. A notification that is both changed and removed is removed; a
   * marker that is both set and cleared is set, as after a recovery and a new problem in one message. Durable once this
   * resolves.
   */
  changeOutbox(change: OutboxChange): Promise<void>;
  /** The logged deliveries of some checks, or of all, in a span of time with both ends, the oldest first; those of one time in any order. */
  deliveries(
    options: {
      readonly checks?: readonly string[];
      readonly sinceMs: number;
      readonly untilMs: number;
      /** Only those with a cause. @default false */
      readonly haveCause?: boolean;
    },
  ): Promise<readonly LoggedDelivery[]>;
  /**
   * The silences whose end is still to come, begun or not, the one that ends first first. Fast, since a running
   * monitor asks before each notification: another process may have added or ended one.
   */
  silences(nowMs: number): Promise<readonly Silence[]>;
  /** Stores some silences in one transaction; each replaces a stored one of the same id. */
  addSilences(silences: readonly Silence[]): Promise<void>;
  /**
   * Ends the silences and acknowledgements of these checks that are not over yet (`null`: those of all checks at once),
   * or all of both, and returns their number. Not maintenance windows. Durable once this resolves.
   */
  endSilences(checks: readonly (string | null)[] | "all", nowMs: number): Promise<number>;
  /** Records an action on the live page and stores its silences, in one transaction. */
  keepAction(action: PageAction, silences: readonly Silence[]): Promise<void>;
  /** The recorded actions on a check, the oldest first. */
  actions(check: string): Promise<readonly PageAction[]>;
  /** Returns the summary that was queued last; `null`: none was. */
  queuedSummary(): Promise<QueuedSummary | null>;
  /** Queues a summary in one transaction, if `before` is still the one queued last. Returns whether it was. */
  queueSummary(
    summary: QueuedSummary,
    before: QueuedSummary | null,
    queued: readonly QueuedNotification[],
  ): Promise<boolean>;
}

/** A stored state. Every method rejects with a {@linkcode StoreError}. */
export interface Store extends CheckStore, OutboxStore, ReportStore {
  /** Returns the facts of a job. Records that it was asked for if it is new, or if the clock was set back behind that. */
  job(name: string, nowMs: number): Promise<JobFacts>;
  /**
   * Stores a run of a job; one with an end replaces the stored one of the same id. The 20 most recent runs of each
   * job are kept, and the one whose end was recorded last. Durable once this resolves.
   */
  keepJobRun(name: string, run: JobRun, nowMs: number): Promise<void>;
  /** Returns the process that runs the checks; `null`: none has been recorded. */
  monitorRun(): Promise<MonitorRun | null>;
  /** Replaces the recorded process that runs the checks. Persisted once this resolves. */
  keepMonitorRun(run: MonitorRun): Promise<void>;
  /**
   * Prunes data that is too old: checks not seen for 30 days, changes after 400 days and beyond the newest 1,000 of a
   * check, roll-ups after 100 days, results after `journalMs` (90 days) and beyond the newest megabyte
   * of a check, logged deliveries after that time and beyond the newest 100,000, silences that time after their end,
   * actions that time after they were taken.
   * Hourly roll-ups of days (in UTC) that ended 8 days ago become daily ones. With a check, its delivery markers are
   * deleted; its queued notifications stay until they are sent. Dropped notifications
   * are deleted 7 days after they last failed or were planned, jobs without a check
   * after 30 days without a check-in, the counts of a channel after 400 days without any.
   *
   * Nothing is deleted because of one reading of the clock: ages refer to a time that a call at least a day later has
   * confirmed, so deletion is one or two days late. Only the first call of all is trusted at once.
   *
   * One call does a bounded part of the work and returns whether that was all; if not, call it again.
   */
  prune(nowMs: number, journalMs?: number | null): Promise<PruneProgress>;
  /** Ends the use of it; every later call but this one rejects. */
  close(): Promise<void>;
}

/** A result as its check's condition machine received it. */
export interface JournalRun {
  /** When the run ended; wall time, milliseconds since 1970. The journal has whole ones. */
  readonly endedAtMs: number;
  readonly condition: Condition;
  /** The result did not count; see `CheckResult`. `null`: it did. */
  readonly awaits: Awaited | null;
  /** Whether an agent reported it, so late that it counts for the history alone; it awaits nothing then. */
  readonly isLate: boolean;
  /** Whether the condition was no longer known before it: the check was overdue, edited, or never ran. */
  readonly isAfterGap: boolean;
  /** Whether nothing ran meanwhile (stop, suspension), or the check was edited. */
  readonly isInterrupted: boolean;
  /** Whether it caused a decision: it begins a row, so that its time and that of the run before it are exact. */
  readonly isDecisive: boolean;
  /** One line without secrets; the journal has none of an `ok`, else the first 256 bytes. */
  readonly output: string;
}

/**
 * Consecutive results of a check that are alike, at a regular interval, within a day. The first and the last time are
 * exact; those in between are regular, within the tolerance of `src/state/journal.ts`. Between two rows nothing ran.
 */
export interface JournalRow extends Pick<JournalRun, "condition" | "awaits" | "isLate"> {
  readonly firstMs: number;
  /** The same as `firstMs` of one run; never before it. */
  readonly lastMs: number;
  /** 0: a notification was decided without a result, at `firstMs`; the other fields are unused. */
  readonly runs: number;
  /** The mean time from one run to the next; 0 with one run. */
  readonly intervalMs: number;
  /** Which of its runs came after a gap (`isAfterGap`): calls that are always late have one before each. */
  readonly gap: "none" | "first" | "each";
  /** Whether nothing ran before the first one, or the check was edited (`isInterrupted`). */
  readonly isInterrupted: boolean;
  /** That of the first run; the others differ in numbers at most. */
  readonly output: string;
}

/** Rows that left the record of their check, packed by `src/state/journal.ts`. */
export interface JournalBlock {
  /** The latest time in it. */
  readonly lastMs: number;
  readonly rows: Uint8Array;
}

export interface CheckJournal {
  readonly name: string;
  /** In the order in which they were recorded, which is that of their times unless the clock was set back. */
  readonly rows: readonly JournalRow[];
}

// Jobs: tasks that something else starts, and that record their own runs.

export interface JobEnd {
  readonly atMs: number;
  /** By the monotonic clock; `null` if it was not measured. */
  readonly durationMs: number | null;
  /** `noted`: it was recorded without a command that `monitor beat` ran. */
  readonly how: "exited" | "signalled" | "not_started" | "noted";
  /** As a shell gives it; 0 is a success, anything else a failure. */
  readonly exitCode: number;
  /** The signal, such as `SIGKILL`, or why the command could not be started; empty for the others. */
  readonly reason: string;
  /** The last lines of its output, with secrets redacted; may be empty. */
  readonly output: string;
}

export interface JobRun {
  /** Unique; distinguishes runs that overlap. */
  readonly id: string;
  readonly startedAtMs: number;
  /** `null` while it runs, or if it died without a check-in. */
  readonly end: JobEnd | null;
}

export interface EndedJobRun extends JobRun {
  readonly end: JobEnd;
}

export interface JobFacts {
  /** When the job was first recorded or asked for; wall time, milliseconds since 1970, never later than now. */
  readonly sinceMs: number;
  /** The run whose end was noted last; `null` before the first. */
  readonly last: EndedJobRun | null;
  /** Runs without an end that began after each run that has one, the oldest first. */
  readonly inProgress: readonly JobRun[];
}

export interface JobLog {
  /** Returns the facts of a job, recorded by any process. Throws a {@linkcode StoreError} if they can't be read. */
  recall(name: string, nowMs: number): Promise<JobFacts>;
}
