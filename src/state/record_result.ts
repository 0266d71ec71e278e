/** Decides on the consequences of a result for its check: pure. */
import {
  type Circumstances,
  hasProblem,
  letsRecoveriesPass,
  review,
  transition,
  type Verdict,
} from "../condition/transition.ts";
import { asObserved, isOfStopped, observedUntil } from "./availability.ts";
import { occurrences } from "../condition/confirm.ts";
import { isUnreported } from "../condition/agreement.ts";
import type { Check } from "../domain/check.ts";
import type { ConditionState, Suppression } from "../domain/condition.ts";
import type { Notification, QueuedNotification } from "../domain/outbox.ts";
import type { Result } from "../domain/result.ts";
import {
  type CheckRecord,
  type CheckUpdate,
  isEdited,
  type KeptResult,
  type RollupEntry,
} from "../domain/store.ts";

/** The circumstances of a decision without a result. */
export interface ReviewOptions {
  /** Wall time; of a result, the end of its run. */
  readonly nowMs: number;
  /** The suppression of the check's notifications; `null`: none. */
  readonly suppressedBy: Suppression | null;
  /** The last notification of each channel of the check, see {@linkcode Circumstances}. @default the last notification */
  readonly known?: Circumstances["known"];
  /** The note of the problem's acknowledgement; `null`: there is none. @default null */
  readonly acknowledged?: string | null;
  /** How many checks depend on the check. @default 0 */
  readonly dependents?: number;
  /** Queues a notification that is due, for each channel, given the state after it. */
  queue(notification: Notification, state: ConditionState): readonly QueuedNotification[];
}

/** The circumstances of a result. */
export interface RecordOptions extends ReviewOptions {
  /** How long after its planned time the run began; `null` if it was not planned. @default null */
  readonly lateMs?: number | null;
  /** As in `ObservedResult`. @default false */
  readonly isAfterGap?: boolean;
  /** Whether nothing ran meanwhile, or the check was edited, as in `ObservedResult`. @default false */
  readonly isInterrupted?: boolean;
  /** Plans the next run, given the state after the result. */
  plan(
    state: ConditionState,
  ): { readonly atMs: number; readonly overdueAtMs: number; readonly missed: number };
}

export type NotificationFacts = Pick<Notification, "check" | "condition">;

export interface NotificationSource {
  /** A new notification's id; unique. */
  newId(facts: NotificationFacts): string;
  readonly hostName: string;
}

/** The consequences of a result, or of the end of a suppression. */
export interface Recorded {
  readonly record: CheckRecord;
  /** Results in a row at least as severe as this one; for `ok`: in a row. */
  readonly occurrences: number;
  /** The notification that is due; `null`: none. */
  readonly notification: Notification | null;
  /** That notification for each channel; sent once they are persisted, or the store can't persist them. */
  readonly queued: readonly QueuedNotification[];
  /** The suppression of a due notification, if only of some channels; `null`: none, or only a reminder is due. */
  readonly suppressed: Suppression | null;
}

/** Returns whether a result is only that of the same runs again, at locations: it is not recorded. */
export function isRepeated(result: Result, { last }: CheckRecord): boolean {
  return result.isSilent !== true && isUnreported(result, last);
}

/** With the update that persists it. */
export interface RecordedUpdate extends Recorded {
  readonly update: CheckUpdate;
}

export function recordResult(
  before: CheckRecord,
  result: Result,
  options: RecordOptions & NotificationSource,
): RecordedUpdate {
  const { nowMs, isInterrupted } = options;
  const { check, condition, output, awaits, recoveredAtMs, isSilent } = result;
  const isAfterGap = isSilent || options.isAfterGap;
  const { state, occurrences, change, verdict } = transition(check, before.condition, {
    ...circumstancesOf(options),
    condition,
    ...awaits !== undefined && { awaits },
    ...recoveredAtMs !== undefined && { recoveredAtMs },
    ...isAfterGap !== undefined && { isAfterGap },
    ...isInterrupted !== undefined && { isInterrupted },
  });
  const record = recordAfter(before, result, { state, options });
  const decided = decide(verdict, { record, check, occurrences, options });
  const update: CheckUpdate = {
    record,
    rollup: rollupEntryOf(before, record, result, options),
    // That a new check is ok is no news.
    change: change === null || change.from === "pending" && change.to === "ok" ? null : {
      name: check.name,
      atMs: nowMs,
      from: change.from,
      to: change.to,
      output,
      trace: change.to === "ok" ? "" : result.trace ?? "",
    },
    queued: decided.queued,
  };
  return { ...decided, update };
}

/**
 * Decides again, without a new result; the update is empty but for a notification. The next run decides about a check
 * that was edited: nothing is known of it.
 */
export function reviewRecord(
  before: CheckRecord,
  check: Check,
  options: ReviewOptions & NotificationSource,
): RecordedUpdate {
  const reviewed = review(before.condition, circumstancesOf(options), check);
  const { state, occurrences } = reviewed;
  const verdict: Verdict = isEdited(check, before)
    ? { kind: "quiet", reason: "it was edited" }
    : reviewed.verdict;
  const record: CheckRecord = verdict.kind === "notify" ? { ...before, condition: state } : before;
  const decided = decide(verdict, { record, check, occurrences, options });
  return { ...decided, update: { record, rollup: null, change: null, queued: decided.queued } };
}

export function keptResult(
  { check, condition, output, detail, performanceData, startedAtMs, durationMs, locations, metrics }: Result,
  lateMs: number | null,
): KeptResult {
  const { definition } = check;
  return {
    condition,
    output,
    detail,
    performanceData,
    metrics: finite(metrics),
    startedAtMs,
    durationMs,
    lateMs,
    ...locations !== undefined && { locations },
    ...definition !== undefined && { definition },
  };
}

function recordAfter(
  before: CheckRecord,
  result: Result,
  { state, options: { nowMs, lateMs = null, plan } }: {
    readonly state: ConditionState;
    readonly options: RecordOptions;
  },
): CheckRecord {
  const { condition, awaits, durationMs } = result;
  const { atMs, overdueAtMs, missed } = plan(state);
  const isRun = isCountedRun(result, before);
  const isFailing = condition !== "ok" && awaits === undefined;
  return {
    name: before.name,
    condition: state,
    last: keptResult(result, lateMs),
    failing: !isFailing && hasProblem(state) ? before.failing ?? textsOf(before.last) : null,
    nextRunAtMs: atMs,
    // Without a run, nothing is observed from now on.
    overdueAtMs: awaits === undefined && !isRun ? nowMs : overdueAtMs,
    missedRuns: before.missedRuns + missed,
    runs: isRun ? { ...before.runs, [condition]: before.runs[condition] + 1 } : before.runs,
    durationTotalMs: before.durationTotalMs + (isRun ? durationMs : 0),
    seenAtMs: nowMs,
  };
}

/** A result that awaits others is none, nor is one without a new result of a location. */
function isCountedRun(result: Result, before: CheckRecord): boolean {
  return result.awaits === undefined && !isUnreported(result, before.last);
}

function textsOf(last: KeptResult | null): CheckRecord["failing"] {
  return last === null ? null : { output: last.output, detail: last.detail };
}

/** Returns the metrics that can be stored. */
function finite(metrics: Result["metrics"]): Result["metrics"] {
  const entries = Object.entries(metrics);
  const isFinite = entries.every(([, value]) => Number.isFinite(value));
  return isFinite ? metrics : Object.fromEntries(entries.filter(([, value]) => Number.isFinite(value)));
}

function rollupEntryOf(
  before: CheckRecord,
  after: CheckRecord,
  result: Result,
  { nowMs, isInterrupted = false }: RecordOptions,
): RollupEntry | null {
  const { check, condition, durationMs } = result;
  const observed = observedUntil(
    asObserved(check, before, null),
    nowMs,
    isInterrupted || isUnreported(result, before.last),
  );
  const lastedMs = observed?.ms ?? 0;
  const entry = {
    atMs: nowMs,
    lastedMs,
    ...observed !== null && observed.untilMs < nowMs && { lastedUntilMs: observed.untilMs },
    lasted: observed?.condition ?? "unknown",
  } as const;
  if (isCountedRun(result, before)) {
    return { ...entry, condition, durationMs, failedStreak: after.condition.atLeast.unknown };
  }
  return lastedMs === 0 ? null : { ...entry, condition: null, durationMs: 0, failedStreak: 0 };
}

/**
 * Counts the time from the last run of a record until the service ended that ran it. Whatever starts and stops until the
 * next run, no more is observed. `null`: another call ran it since, or it was counted already.
 */
export function settleRecord(before: CheckRecord, endMs: number): CheckUpdate | null {
  const { condition: { observedAtMs }, overdueAtMs } = before;
  if (!isOfStopped(before, endMs) || overdueAtMs === null || overdueAtMs <= (observedAtMs ?? 0)) return null;
  const observed = observedUntil(before, Math.min(endMs, overdueAtMs), true);
  const record = { ...before, overdueAtMs: observedAtMs };
  const rollup = observed === null || observed.ms === 0 ? null : {
    atMs: observed.untilMs,
    lastedMs: observed.ms,
    lasted: observed.condition,
    condition: null,
    durationMs: 0,
    failedStreak: 0,
  };
  return { record, rollup, change: null, queued: [] };
}

/** The consequences of a decision; the record is that after it. */
interface Decided {
  readonly record: CheckRecord;
  readonly check: Check;
  readonly occurrences: number;
  readonly options: ReviewOptions & NotificationSource;
}

function decide(verdict: Verdict, decided: Decided): Recorded {
  if (verdict.kind === "notify") return { ...notify(verdict, decided), suppressed: null };
  // A suppressed reminder isn't due later.
  const isDue = verdict.kind === "suppressed" && verdict.event !== "reminder";
  const suppressed = isDue ? verdict.suppressedBy : null;
  const recoveries = suppressed !== null && letsRecoveriesPass(suppressed) ? notifyRecovered(decided) : null;
  const { record, occurrences } = decided;
  return { ...recoveries ?? { record, occurrences, notification: null, queued: [] }, suppressed };
}

/** Of a suppressed change between problems: the recovery for channels that are not for the new condition. */
function notifyRecovered(decided: Decided): Omit<Recorded, "suppressed"> | null {
  const { record: { condition: { confirmed, notified, problemBeganAtMs } }, check, options } = decided;
  if (confirmed === null) return null;
  const mayBeDue = check.notifications.some(({ conditions }) => conditions?.includes(confirmed) === false);
  if (!mayBeDue) return null;
  const recoveries = notify({
    event: "recovery",
    condition: confirmed,
    previous: notified,
    problemBeganAtMs: problemBeganAtMs ?? options.nowMs,
  }, decided);
  return recoveries.queued.length === 0 ? null : recoveries;
}

function notify(
  verdict: Omit<Extract<Verdict, { readonly kind: "notify" }>, "kind" | "reason">,
  { record, check, occurrences: seen, options }: Decided,
): Omit<Recorded, "suppressed"> {
  const described = verdict.condition === "ok" ? record.last : record.failing ?? record.last;
  const changedAtMs = record.condition.confirmedSinceMs ?? options.nowMs;
  const notification: Notification = {
    id: options.newId({ check: check.name, condition: verdict.condition }),
    check: check.name,
    title: check.title ?? null,
    event: verdict.event,
    condition: verdict.condition,
    previous: verdict.previous,
    output: described?.output ?? "",
    detail: described?.detail ?? "",
    problemBeganAtMs: verdict.problemBeganAtMs,
    // A recovery may have been held back, or its record been written by another member.
    decidedAtMs: verdict.event === "recovery" ? Math.min(changedAtMs, options.nowMs) : options.nowMs,
    // The last result may be worse than the condition that is confirmed.
    occurrences: occurrences(record.condition, verdict.condition),
    nextRunAtMs: record.nextRunAtMs ?? options.nowMs,
    hostName: options.hostName,
    acknowledged: options.acknowledged ?? null,
    flapping: record.condition.flappingSinceMs !== null,
    dependents: verdict.event === "recovery" ? 0 : options.dependents ?? 0,
  };
  const queued = options.queue(notification, record.condition);
  return { record, occurrences: seen, notification, queued };
}

function circumstancesOf(
  { suppressedBy, nowMs, known, acknowledged = null }: ReviewOptions,
): Circumstances {
  return {
    suppressedBy,
    nowMs,
    isAcknowledged: acknowledged !== null,
    ...known !== undefined && { known },
  };
}
