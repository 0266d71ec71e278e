/** What is known now about a check, from its record: its condition, that it is pending, or why it is not known. */
import { agentCheckName, type Check, isAgentCheck, isReported } from "../domain/check.ts";
import { quote } from "../shared/text.ts";
import {
  dueEvent,
  hasProblem,
  initialState,
  isAttentive,
  recoveredAtMs,
} from "../condition/condition_state.ts";
import type { KnownCondition, ResultState } from "../domain/check_kind.ts";
import {
  type Condition,
  type ConditionState,
  countedAs,
  severity,
  type ShownCondition,
} from "../domain/condition.ts";
import { describeDuration } from "../domain/duration.ts";
import { describeNotRunning, type NotRunning } from "../domain/monitor_run.ts";
import { type IntervalSchedule, isCron, type Schedule } from "../domain/schedule.ts";
import type { Silence } from "../domain/outbox.ts";
import { type CheckRecord, isEdited } from "../domain/store.ts";
import { holdingDependencies, shownWindow, silencesOf } from "./suppression.ts";
import { type OpenWindow, openWindow } from "./maintenance_windows.ts";

/** A check for display: from the config, or from the state while the config has errors. */
export interface ShownCheck extends
  Pick<
    Check,
    | "name"
    | "title"
    | "description"
    | "runbook"
    | "target"
    | "active"
    | "tags"
    | "maintenanceWindows"
    | "dependsOn"
    | "schedule"
    | "timeoutMs"
    | "definition"
    | "locations"
    | "action"
    | "agent"
    | "duration"
    | "metrics"
  > {
  /** `null` if unknown. */
  readonly kind: string | null;
  /** `null` if unknown. */
  readonly threshold: number | null;
  /** `null` if unknown. */
  readonly recoveryThreshold: number | null;
}

export interface CheckStatus {
  readonly check: ShownCheck;
  /** Its stored record; `null` without data. */
  readonly record: CheckRecord | null;
  /** The confirmed condition, or `pending`; `unknown` without data, or without recent data. */
  readonly condition: ShownCondition;
  readonly state: ResultState;
  /** Why no service runs the checks; `null`: one runs, or there is none. */
  readonly notRunning: NotRunning | null;
  readonly maintenance: OpenWindow | null;
  readonly isSilenced: boolean;
  /** The note of an acknowledgement, which may be empty; `null`: the problem is not acknowledged. */
  readonly acknowledged: string | null;
  readonly waitsFor: readonly string[];
}

interface StatusOptions {
  /** The stored record of a check; `null` without data. */
  recordOf(name: string): CheckRecord | null;
  /** Names of inactive checks, which suppress nothing. @default none */
  readonly inactive?: ReadonlySet<string>;
  /** @default none */
  readonly silences?: readonly Silence[];
  /** Why no service runs the checks. @default null, one runs, or there is none */
  readonly notRunning?: NotRunning | null;
  readonly nowMs: number;
}

/** Returns the present status of a record, with the suppressions of the check. */
export function statusOf(
  check: ShownCheck,
  { recordOf, inactive, silences = [], notRunning = null, nowMs }: StatusOptions,
): CheckStatus {
  const record = recordOf(check.name);
  const { name, tags, maintenanceWindows } = check;
  const silenced = { name, tags, problemBeganAtMs: record?.condition.problemBeganAtMs ?? null };
  const started = silencesOf(silenced, silences, { kind: "maintenance", nowMs });
  const [acknowledgement] = silencesOf(silenced, silences, { kind: "acknowledgement", nowMs });
  const { condition, state } = conditionOf(check, asHeard(check, record, recordOf), nowMs, notRunning);
  const event = record === null || state === "never_ran" ? null : dueEvent(record.condition);
  // A dependency suppresses no recovery.
  const waitsFor = event === null || event === "recovery" ? [] : holdingDependencies(check, {
    running: { has: (name) => inactive?.has(name) !== true },
    stateOf: (name) => recordOf(name)?.condition ?? initialState(),
    nowMs,
  }).flat();
  return {
    ...{ check, record, notRunning, condition, state, waitsFor },
    maintenance: openWindow([...maintenanceWindows, ...started.map(shownWindow)], nowMs),
    isSilenced: silencesOf(silenced, silences, { kind: "silence", nowMs }).length > 0,
    acknowledged: acknowledgement?.reason ?? null,
  };
}

/** Returns since when a confirmed condition lasts: that an agent is silent since its last report; `null` if unknown. */
export function lastsSinceMs({ check, record }: Pick<CheckStatus, "check" | "record">): number | null {
  const { confirmed = null, confirmedSinceMs = null, problemBeganAtMs = null } = record?.condition ?? {};
  const isSilent = isAgentCheck(check) && hasProblem({ confirmed });
  return isSilent || confirmed === null ? problemBeganAtMs : confirmedSinceMs;
}

/** Returns the conditions that count for all of some checks: without any, nothing is known. */
export function countedConditions(statuses: readonly Pick<CheckStatus, "condition">[]): readonly Condition[] {
  return statuses.length === 0 ? ["unknown"] : statuses.map(({ condition }) => countedAs(condition));
}

export function inactiveNames(checks: readonly Pick<Check, "name" | "active">[]): ReadonlySet<string> {
  return new Set(checks.filter((check) => !check.active).map((check) => check.name));
}

/**
 * Returns what is known now about the condition of a check, from its stored record. While no service runs, nothing is
 * known about a check that only the service ran.
 */
export function conditionOf(
  check: Scheduled & Pick<Check, "timeoutMs">,
  record: CheckRecord | null,
  nowMs: number,
  notRunning: NotRunning | null = null,
): KnownCondition {
  if (record === null || record.last === null) {
    // A cron schedule names its times: until the first one, nothing is missing.
    const isAwaited = isCron(check.schedule) && notRunning === null;
    return { condition: isAwaited ? "pending" : "unknown", state: "never_ran", last: null };
  }
  const state = isEdited(check, record)
    ? "edited"
    : isInFuture(check, record, nowMs)
    ? "in_future"
    : isLeft(record, notRunning)
    ? "not_running"
    : nowMs > overdueAtMs(check, record) + clockToleranceMs(record)
    ? "overdue"
    : "current";
  const condition = state === "current" ? record.condition.confirmed ?? "pending" : "unknown";
  const isLater = state !== "current" && isCron(check.schedule);
  const endedAtMs = recoveredAtMs(record.condition);
  return {
    condition,
    state,
    last: record.condition.observed,
    ...isLater && { isLater },
    ...endedAtMs > 0 && { recoveredAtMs: endedAtMs },
  };
}

/**
 * Returns the condition of a check as known to a member: `unknown` for checks of other members while the shared state
 * is unreachable, so that their newer results are missing.
 */
export function knownAtMember(
  known: KnownCondition,
  { isShared = false }: Pick<CheckRecord, "isShared">,
  member: { readonly isOpen: boolean } | null,
): KnownCondition {
  return isShared && member?.isOpen === true
    ? { ...known, condition: "unknown", state: "not_running" }
    : known;
}

/**
 * Returns a record as it counts: while the agent of a check is silent, or none of its reports could be received, that is
 * overdue, whatever the agent had planned.
 */
export function asHeard<Record extends CheckRecord | null>(
  check: Pick<Check, "name" | "agent">,
  record: Record,
  recordOf: (name: string) => CheckRecord | null,
): Record {
  if (record === null || !isReported(check)) return record;
  const about = recordOf(agentCheckName(check.agent ?? ""))?.condition;
  const isUnheard = about?.confirmed === null && about.observed === "unknown";
  const sinceMs = isUnheard ? about.observedAtMs : about?.confirmedSinceMs;
  const isSilent = (isUnheard || about?.confirmed === "critical") &&
    (record.condition.observedAtMs ?? -Infinity) <= (sinceMs ?? Infinity);
  return isSilent ? { ...record, overdueAtMs: -Infinity } : record;
}

/** Returns whether nothing ran a check since its service stopped; single calls may have. */
function isLeft(record: CheckRecord, notRunning: NotRunning | null): boolean {
  const observedMs = record.condition.observedAtMs ?? -Infinity;
  return notRunning !== null && observedMs <= notRunning.sinceMs + clockToleranceMs(record);
}

/**
 * Returns whether the condition of a record is not known now: it is overdue, its last run is in the future, the check
 * was edited, or it never ran. However little a clock differs: that a new result confirms an `ok` again is no news.
 */
export function isAfterGap(
  check: Scheduled & Pick<Check, "timeoutMs">,
  record: CheckRecord,
  nowMs: number,
): boolean {
  return conditionOf(check, { ...record, isShared: false }, nowMs).state !== "current";
}

/** Returns the condition that was last notified: `ok` if none was, but `ok` was known; `null` if neither. */
export function knownNotified(
  { confirmed, leftAtMs, notified, notifiedAtMs }: CheckRecord["condition"],
): Condition | null {
  if (notifiedAtMs !== null) return notified;
  return confirmed === "ok" || leftAtMs.ok !== null ? "ok" : null;
}

/** The description of a check besides its condition: the last output, and the reason if that alone would mislead. */
export function describeStatus(status: CheckStatus, nowMs: number): string {
  const { check, record, notRunning, acknowledged } = status;
  if (record === null || record.last === null) {
    return isCron(check.schedule) && notRunning === null
      ? `never ran, first run in ${describeDuration(check.schedule.times.after(nowMs) - nowMs)}`
      : "never ran";
  }
  const { last, condition } = record;
  const { confirmed } = condition;
  const count = describeCount(check, record);
  const said = [
    describeStale(status, nowMs),
    count === "" || confirmed === null ? count : `last ${count}`,
    // The output may be empty.
    last.output,
  ].filter((part) => part !== "").join(": ");
  const isNotified = dueEvent(condition) === null;
  return [
    said,
    isNotified ? "" : `[${describeSuppression(status)}]`,
    record.condition.flappingSinceMs === null ? "" : "[flapping]",
    (record.condition.burn?.alert ?? null) === null ? "" : "[error budget burns]",
    acknowledged === null ? "" : acknowledged === "" ? "[acknowledged]" : `[acknowledged: ${acknowledged}]`,
  ].filter((part) => part !== "").join(" ");
}

/** Returns why a notification was not sent, in the order in which {@linkcode Suppression} applies. */
function describeSuppression({ isSilenced, maintenance, waitsFor }: CheckStatus): string {
  if (isSilenced) return "suppressed: silence";
  if (maintenance !== null) return "suppressed: maintenance window";
  if (waitsFor.length === 0) return "not notified";
  return `suppressed: depends on ${waitsFor.map((name) => `"${name}"`).join(", ")}`;
}

/** Returns why a stored condition does not count any more; empty if it does, or there is none. */
export function describeStale(
  { check, state, record, notRunning }:
    & Pick<CheckStatus, "state" | "record" | "notRunning">
    & { readonly check: Pick<Check, "name" | "agent"> },
  nowMs: number,
): string {
  if (record === null || record.last === null) return "";
  const confirmed = record.condition.confirmed ?? "pending";
  const agoMs = nowMs - record.last.startedAtMs;
  if (state === "edited") return `not run since it was edited, was ${confirmed}`;
  if (state === "not_running" && notRunning !== null) {
    return `${describeNotRunning(notRunning, nowMs)}, was ${confirmed}`;
  }
  if (state === "overdue") {
    // The output says so.
    if (isReported(check) && record.last.report === undefined) return "";
    return `${describeNoRun(check)} for ${describeDuration(agoMs)}, was ${confirmed}`;
  }
  if (state === "current" && record.condition.observedAtMs === null) {
    return `not run since it came back to the config, last ${record.last.condition}`;
  }
  if (state !== "in_future") return "";
  // The clock may also have gone ahead during the run.
  if (agoMs >= 0) return `last run ended in the future, was ${confirmed}`;
  const clock = record.isShared === true ? " by the clock of this machine" : "";
  return `last run is ${describeDuration(-agoMs)} in the future${clock}, was ${confirmed}`;
}

export function describeNoRun(check: Pick<Check, "name" | "agent">): string {
  return isReported(check) ? `not reported by agent ${quote(check.agent ?? "")}` : "not run";
}

interface UnconfirmedResult {
  readonly condition: Condition;
  /** Consecutive results of at least that severity; if it is lower than the confirmed one: of at most that. */
  readonly results: number;
  /** How many of them confirm it; `null` if unknown. */
  readonly threshold: number | null;
}

/**
 * Returns the last result, if more of them would confirm another condition; `null`: it is the confirmed one, or none
 * counts.
 */
export function unconfirmedOf(
  check: Pick<ShownCheck, "threshold" | "recoveryThreshold">,
  { condition: { confirmed, atLeast, atMost }, last }: CheckRecord,
): UnconfirmedResult | null {
  if (last === null || last.condition === confirmed) return null;
  const { condition } = last;
  const unconfirmed = confirmed === null || severity(condition) > severity(confirmed)
    ? { condition, results: atLeast[condition], threshold: check.threshold }
    : { condition, results: atMost[condition], threshold: check.recoveryThreshold };
  return unconfirmed.results === 0 ? null : unconfirmed;
}

/** The last result with its count, if it is not confirmed: `critical, 2 of 3`; else empty. */
export function describeCount(check: ShownCheck, record: CheckRecord): string {
  const unconfirmed = unconfirmedOf(check, record);
  if (unconfirmed === null) return "";
  const { condition, results, threshold } = unconfirmed;
  if (threshold === null) return `${condition}, ${results} in a row`;
  return results < threshold ? `${condition}, ${results} of ${threshold}` : condition;
}

// Whether the next run of a record is overdue, or its last one lies in the future.

/** The fields of a check that determine when it runs, and whether its record is current. */
export type Scheduled = Pick<Check, "name" | "schedule" | "splay" | "definition" | "locations" | "agent">;

type OverdueRecord =
  & Pick<CheckRecord, "condition" | "nextRunAtMs">
  & Partial<Pick<CheckRecord, "overdueAtMs" | "last">>;

/** How long a result of an agent may take to arrive. */
export const REPORT_MARGIN_MS = 60_000;

/** By how much the clocks of machines that share a state may differ. */
const CLOCK_DIFFERENCE_MS = 5 * 60_000;

/** Returns by how much the times of a record may be of another clock. */
export function clockToleranceMs({ isShared = false }: Pick<CheckRecord, "isShared">): number {
  return isShared ? CLOCK_DIFFERENCE_MS : 0;
}

/** The interval that applies: the attentive one while a check is failing. `null`: only its cron times apply. */
export function intervalOf(schedule: IntervalSchedule, state: ConditionState): number;
export function intervalOf(schedule: Schedule, state: ConditionState): number | null;
export function intervalOf(schedule: Schedule, state: ConditionState): number | null {
  if (isAttentive(state)) return schedule.attentiveIntervalMs;
  return isCron(schedule) ? null : schedule.regularIntervalMs;
}

/** Returns the run after now while the check is not failing. */
export function regularRunAfter({ schedule }: Scheduled, nowMs: number): number {
  return isCron(schedule) ? schedule.times.after(nowMs) : nowMs + schedule.regularIntervalMs;
}

/**
 * When a planned run is so late that the monitor seems to be dead: at the second run after it, but not while it may be
 * in progress. At once if none is planned: nothing runs the check. What an agent runs is planned there.
 */
export function overdueAtMs(
  check: Scheduled & Pick<Check, "timeoutMs">,
  { condition, nextRunAtMs, overdueAtMs: knownMs, last }: OverdueRecord,
): number {
  const isPlannedElsewhere = check.agent !== undefined && last?.report !== undefined && knownMs !== undefined;
  if (isPlannedElsewhere) return nextRunAtMs === null ? -Infinity : knownMs ?? -Infinity;
  return nextRunAtMs === null ? -Infinity : secondRunAfter(check, condition, nextRunAtMs);
}

/**
 * Returns whether a record's last run is in the future, by more than a small clock correction. Its condition has no
 * meaning then: it would seem fresh until that time, even if the monitor died.
 */
function isInFuture(
  check: Scheduled & Pick<Check, "timeoutMs">,
  record: CheckRecord,
  nowMs: number,
): boolean {
  const { condition, last } = record;
  const lastMs = Math.max(last?.startedAtMs ?? -Infinity, condition.observedAtMs ?? -Infinity);
  return lastMs > nowMs + clockToleranceMs(record) && lastMs > secondRunAfter(check, condition, nowMs);
}

/** Returns the second run after a time, but no earlier than a run that takes its whole timeout and the run after it. */
function secondRunAfter(
  check: Scheduled & Pick<Check, "timeoutMs">,
  state: ConditionState,
  timeMs: number,
): number {
  const intervalMs = intervalOf(check.schedule, state);
  if (intervalMs !== null) return timeMs + graceMs(intervalMs, check.timeoutMs);
  return regularRunAfter(check, regularRunAfter(check, timeMs));
}

/** Returns how long after the begin of a run at one location the next one is overdue there, where nothing is confirmed. */
export function locationOverdueMs(
  { schedule, timeoutMs }: { readonly schedule: IntervalSchedule; readonly timeoutMs: number },
  condition: Condition,
): number {
  const intervalMs = intervalAfter(condition, schedule);
  return intervalMs + graceMs(intervalMs, timeoutMs);
}

/**
 * Returns how long after the begin of a run at one location its result counts. Less than until it is overdue: a result
 * of all locations rests on results as old as that, and counts until it is overdue itself.
 */
export function locationCountsMs(
  { schedule, timeoutMs }: { readonly schedule: IntervalSchedule; readonly timeoutMs: number },
  condition: Condition,
): number {
  return 1.5 * intervalAfter(condition, schedule) + timeoutMs;
}

function intervalAfter(condition: Condition, schedule: IntervalSchedule): number {
  return condition === "ok" ? schedule.regularIntervalMs : schedule.attentiveIntervalMs;
}

function graceMs(intervalMs: number, timeoutMs: number): number {
  return Math.max(OVERDUE_INTERVALS * intervalMs, timeoutMs + intervalMs);
}

const OVERDUE_INTERVALS = 2;
