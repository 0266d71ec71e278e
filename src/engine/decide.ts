/**
 * The one function that decides what a result leads to, pure: from the record of a check, a result or only the time, the
 * settings, and what the channels were last notified of, to the next record and the notifications. `why.ts` asks it
 * again, without each setting, for the reasons.
 */
import { type Circumstances, review, transition, type Verdict } from "../condition/transition.ts";
import {
  conditionBefore,
  hasProblem,
  letsRecoveriesPass,
  occurrences,
} from "../condition/condition_state.ts";
import { asObserved, observedUntil } from "../state/availability.ts";
import { addMeasured, valuesOf } from "../state/metric_sums.ts";
import { type Added, addReview, addRun, lastAwaits } from "../state/journal.ts";
import { startOf } from "../state/retention.ts";
import { addDuration, addMetricValues, judgeDurations, judgeMetrics } from "../condition/duration_rule.ts";
import { readPerformanceData } from "../shared/performance_data.ts";
import { burnAfter, burnPolicyOf, describeBurning, type ObservedGap, withTold } from "../condition/burn.ts";
import { isUnreported } from "../condition/agreement.ts";
import { agentCheckName, type Check, isReported, type Result } from "../domain/check.ts";
import type { Channel } from "../domain/channel.ts";
import { actionPhase, describeActions, withAction } from "../condition/action.ts";
import type { ActionRun, Condition, ConditionState, Suppression } from "../domain/condition.ts";
import type { TextMax } from "../domain/delivery.ts";
import { observedGapMs } from "../domain/schedule.ts";
import { defined } from "../shared/json_values.ts";
import { firstItems, quote } from "../shared/text.ts";
import { HOUR_MS } from "../shared/time_units.ts";
import {
  type Notification,
  type NotificationFacts,
  PLAIN_NOTIFICATION,
  type QueuedNotification,
} from "../domain/outbox.ts";
import {
  type CheckRecord,
  type CheckUpdate,
  isEdited,
  type KeptResult,
  type RollupEntry,
} from "../domain/store.ts";
import { type FilterOptions, isLeftOut, knownTo } from "./channel_filters.ts";
import { type LastNotified, queueFor, queueRehearsal } from "./queued_notifications.ts";
import {
  isInMaintenance,
  mayAct,
  silencesOfKind,
  suppressionOf,
  type SuppressionOptions,
} from "./suppression.ts";

/**
 * What a decision depends on, apart from the check, its record and its result. Times are wall time, milliseconds since
 * 1970.
 */
export interface Situation extends SuppressionOptions {
  /** Whether another member has decided meanwhile, and the notifications of the channels are not read yet. @default false */
  readonly isOvertaken?: boolean;
  /** Whether an agent has reported the last result so late that it is no longer known. @default false */
  readonly isLate?: boolean;
  /** Whether actions of checks run here. @default true */
  readonly acts?: boolean;
  /** Returns the last notification of a channel for the check; `null`: no channel is called. */
  readonly lastNotifiedOf: ((channel: Channel) => LastNotified) | null;
  readonly dependents: number;
  nameOf(channel: Channel): string;
  textMaxOf(channel: Channel): TextMax;
  /** The sequence of the first notification that is queued; each further one gets the next. */
  readonly sequence: number;
  newId(facts: NotificationFacts): string;
  readonly hostName: string;
}

/** A situation in which nothing is sent, as far as only a notification that is sent has it. */
export const NOT_SENT = {
  notifies: true,
  dependents: 0,
  nameOf: () => "",
  textMaxOf: () => ({ output: 0, detail: 0 }),
  sequence: 0,
  newId: () => "",
  hostName: "",
} as const satisfies Partial<Situation>;

export interface Run {
  readonly result: Result;
  /** How long after its planned time it began; `null` if it was not planned. @default null */
  readonly lateMs?: number | null;
  /** As in `ObservedResult`. @default false */
  readonly isAfterGap?: boolean;
  /** Whether nothing ran meanwhile, or the check was edited, as in `ObservedResult`. @default false */
  readonly isInterrupted?: boolean;
  plan(
    state: ConditionState,
  ): { readonly atMs: number; readonly overdueAtMs: number; readonly missed: number };
}

/** The consequences of a result, or of the end of a suppression. */
export interface Decided {
  readonly record: CheckRecord;
  /** Results in a row at least as severe as this one; for `ok`: in a row. */
  readonly occurrences: number;
  readonly notification: Notification | null;
  /** The result as it counts: slow runs make an `ok` a `warning`; `null`: decided without one. */
  readonly result: Result | null;
  /** That notification for each channel; sent once they are persisted, or the store can't persist them. */
  readonly queued: readonly QueuedNotification[];
  /** The suppression of a due notification, if only of some channels; `null`: none, or only a reminder is due. */
  readonly suppressed: Suppression | null;
  /** The action of the check that is to run, once this is persisted, and only then; `null`: none. */
  readonly action: ActionRun | null;
  /** What persists it; without a result it is empty but for a notification or an action. */
  readonly update: CheckUpdate;
}

/** Returns whether a result is only that of the same runs again, at locations, or awaits a report: it is not recorded. */
export function isRepeated(result: Result, { last }: CheckRecord): boolean {
  return result.awaits === "report" || result.isSilent !== true && isUnreported(result, last);
}

/**
 * Decides on the consequences of a result; without one, whether a notification is due that was suppressed until now. The
 * next run decides about a check that was edited: nothing is known of it.
 */
export function decide(
  before: CheckRecord,
  check: Check,
  situation: Situation,
  run: Run | null = null,
): Decided {
  const { nowMs, lastNotifiedOf, notifies } = situation;
  const [acknowledgement] = silencesOfKind("acknowledgement", check, {
    silences: situation.silences,
    stateOf: () => before.condition,
    nowMs,
  });
  const lastOf = lastNotifiedOf ?? (() => NEVER_NOTIFIED);
  const channels = lastNotifiedOf === null || !notifies ? [] : check.notifications;
  const isAcknowledged = acknowledgement !== undefined;
  const suppressible = run === null || !isReported(check) ? check : whileReported(check);
  const present = run === null
    ? situation
    : { ...situation, observedAtMs: nowMs, isLate: run.result.isLate ?? false };
  const circumstances: Circumstances & FilterOptions = {
    nowMs,
    isAcknowledged,
    suppressedBy: suppressionIn(suppressible, present),
    acts: situation.acts !== false && !situation.isOvertaken && !present.isLate &&
      check.action !== undefined && mayAct(suppressible, present),
    known: (state) =>
      channels.flatMap((channel) =>
        knownTo(channel, lastOf(channel).conditions, state, { nowMs, isAcknowledged })
      ),
  };
  const acknowledged = acknowledgement?.reason ?? null;
  const deciding = { check, situation, circumstances, acknowledged, channels, lastNotifiedOf: lastOf };
  return run === null ? reviewRecord(before, deciding) : recordRun(before, run, deciding);
}

/** Returns the suppression of notifications of a check; `null`: none. */
export function suppressionIn(check: Check, situation: Situation): Suppression | null {
  if (situation.isOvertaken === true) return "overtaken";
  return situation.isLate === true ? "late" : suppressionOf(check, situation);
}

/**
 * Returns a check as it depends on others at a result, with which its agent is not silent. Otherwise a problem that
 * began and ended while the hub was away would be suppressed, and never sent.
 */
function whileReported(check: Check): Check {
  const own = agentCheckName(check.agent ?? "");
  return { ...check, dependsOn: check.dependsOn.filter((dependency) => dependency !== own) };
}

const NEVER_NOTIFIED: LastNotified = { conditions: ["ok"], isPending: false };

interface Deciding {
  readonly check: Check;
  readonly situation: Situation;
  readonly circumstances: Circumstances & FilterOptions;
  /** The note of the problem's acknowledgement; `null`: there is none. */
  readonly acknowledged: string | null;
  readonly channels: readonly Channel[];
  lastNotifiedOf(channel: Channel): LastNotified;
}

function recordRun(before: CheckRecord, run: Run, deciding: Deciding): Decided {
  const { check, situation, circumstances } = deciding;
  const { nowMs } = situation;
  const { result, ...histories } = withLimits(before, run.result, nowMs);
  const { isInterrupted = false } = run;
  const { condition, output, awaits, beganAtMs, recoveredAtMs, isSilent = false, isLate = false } = result;
  const isAfterGap = isSilent || (run.isAfterGap ?? false);
  const { state, occurrences, change, verdict } = transition(check, before.condition, {
    ...circumstances,
    condition,
    awaits,
    beganAtMs,
    recoveredAtMs,
    isAfterGap,
    isInterrupted,
  });
  const isActing = awaits === undefined && isActionDue(check, state, circumstances);
  const judged = { ...run, result };
  const burnt = withBurn(before, judged, state, deciding);
  const record = recordAfter(before, judged, {
    ...histories,
    state: isActing ? withAction(burnt, nowMs) : burnt,
    nowMs,
  });
  const decided = withBurning(conclude(verdict, { record, occurrences, deciding, isActing }), deciding);
  const { notification } = decided;
  const { rehearsal } = result;
  const sequence = situation.sequence + decided.queued.length;
  const rehearsals = rehearsal === undefined || !situation.notifies
    ? []
    : [queueRehearsal(rehearsal, { ...situation, sequence })];
  const queued = [...decided.queued, ...rehearsals];
  // With a reminder at each run and no channel that gets it, nothing is recorded.
  const isDecisive = change !== null || isActing ||
    notification !== null && (decided.queued.length > 0 || check.reminders !== true);
  const added = addRun(before.journal, {
    condition,
    isLate,
    isAfterGap,
    isInterrupted,
    isDecisive,
    output,
    endedAtMs: nowMs,
    awaits: awaits ?? null,
  });
  return withUpdate({ ...decided, queued }, added, result, {
    rollup: rollupEntryOf(before, record, judged, nowMs),
    // That a new check is ok is no news.
    change: change === null || change.from === "pending" && change.to === "ok" ? null : {
      ...{ ...change, name: check.name, atMs: nowMs, output },
      trace: change.to === "ok" ? "" : result.trace ?? "",
    },
  });
}

function reviewRecord(before: CheckRecord, deciding: Deciding): Decided {
  const { check, circumstances } = deciding;
  const reviewed = review(before.condition, circumstances, check);
  const { state, occurrences } = reviewed;
  const wasEdited = isEdited(check, before);
  const verdict: Verdict = wasEdited ? { kind: "quiet" } : reviewed.verdict;
  const isActing = !wasEdited && isActionDue(check, state, circumstances);
  const reviewedState = verdict.kind === "notify" ? state : before.condition;
  const condition = isActing ? withAction(reviewedState, circumstances.nowMs) : reviewedState;
  const record: CheckRecord = condition === before.condition ? before : { ...before, condition };
  const concluded = conclude(verdict, { record, occurrences, deciding, isActing });
  const decided = wasEdited ? concluded : withBurning(concluded, deciding);
  const isNoted = decided.notification !== null && before.journal !== null;
  const added = isNoted ? addReview(before.journal, deciding.situation.nowMs) : null;
  return withUpdate(decided, added, null, { rollup: null, change: null });
}

/** Adds the time since the last result to the burn of the error budget. Maintenance does not use it up. */
function withBurn(
  before: CheckRecord,
  run: Run,
  state: ConditionState,
  { check, situation }: Deciding,
): ConditionState {
  const policy = burnPolicyOf(check);
  if (policy === null && state.burn === undefined) return state;
  const { burn: known, ...rest } = state;
  if (policy === null) return rest;
  const { nowMs } = situation;
  const gap = gapBefore(before, run, nowMs);
  if (known === undefined && (gap === null || gap.before === "ok" && gap.after === "ok")) return state;
  const burn = burnAfter(known, policy, {
    gap: gap === null || isInMaintenance(check, situation) ? null : gap,
    nowMs,
  });
  return burn === undefined ? rest : { ...rest, burn };
}

/** Returns the time since the last result that counted, if it was observed. */
function gapBefore(
  before: CheckRecord,
  { result, isAfterGap = false, isInterrupted = false }: Run,
  nowMs: number,
): ObservedGap | null {
  const { last, overdueAtMs, condition: { observed, observedAtMs } } = before;
  if (isInterrupted || !isCountedRun(result, before) || isEdited(result.check, before)) return null;
  if (last === null || observed === null || observedAtMs === null || overdueAtMs === null) return null;
  if (nowMs <= observedAtMs || lastAwaits(before.journal) !== null) return null;
  const isOverdue = isAfterGap || nowMs > overdueAtMs;
  if (isOverdue && nowMs - observedAtMs > observedGapMs(result.check.schedule)) return null;
  return { fromMs: observedAtMs, toMs: nowMs, before: observed, after: result.condition };
}

function isActionDue(check: Check, state: ConditionState, { acts = false }: Circumstances): boolean {
  return acts && actionPhase(check, state) === "due";
}

/** Adds the changes that persist a decision, including its new journal rows. */
function withUpdate(
  decided: Conclusion,
  added: Added | null,
  result: Result | null,
  others: Pick<CheckUpdate, "rollup" | "change">,
): Decided {
  const record = added === null ? decided.record : { ...decided.record, journal: added.journal };
  const block = added?.block ?? null;
  const update = { ...others, record, queued: decided.queued, ...block !== null && { journal: block } };
  return { ...decided, result, record, update };
}

/** `last`: the result before it, from which a result without its own memory and report goes on. */
export function keptResult(
  result: Result,
  lateMs: number | null,
  last: Pick<KeptResult, "memory" | "report"> | null = null,
): KeptResult {
  const { check: { definition }, condition, output, detail, performanceData, metrics } = result;
  const { startedAtMs, durationMs, locations, isLate, attributes } = result;
  const { memory = last?.memory, report = last?.report } = result;
  return {
    condition,
    output,
    detail,
    performanceData,
    startedAtMs,
    durationMs,
    lateMs,
    metrics: storable(metrics),
    ...defined({ locations, definition, memory, report, isLate: isLate || undefined, attributes }),
  };
}

/** Numbers that JSON lacks cannot be stored. */
function storable(metrics: KeptResult["metrics"]): KeptResult["metrics"] {
  if (Object.values(metrics).every(Number.isFinite)) return metrics;
  return Object.fromEntries(Object.entries(metrics).filter(([, value]) => Number.isFinite(value)));
}

function recordAfter(
  before: CheckRecord,
  { result, lateMs = null, plan }: Run,
  { state, durationHistory, metricHistory, nowMs }: LimitHistories & {
    readonly state: ConditionState;
    readonly nowMs: number;
  },
): CheckRecord {
  const { last } = before;
  const { condition, awaits, durationMs } = result;
  const { atMs, overdueAtMs, missed } = plan(state);
  const isRun = isCountedRun(result, before);
  const isFailing = condition !== "ok" && awaits === undefined;
  return {
    name: before.name,
    condition: state,
    last: keptResult(result, lateMs, last),
    failing: !isFailing && hasProblem(state)
      ? before.failing ?? (last && { output: last.output, detail: last.detail })
      : null,
    nextRunAtMs: atMs,
    // Without a run, nothing is observed from now on.
    overdueAtMs: awaits === undefined && !isRun ? nowMs : overdueAtMs,
    missedRuns: before.missedRuns + missed,
    runs: isRun ? { ...before.runs, [condition]: before.runs[condition] + 1 } : before.runs,
    durationTotalMs: before.durationTotalMs + (isRun ? durationMs : 0),
    seenAtMs: nowMs,
    journal: before.journal,
    durationHistory,
    metricHistory,
    metricHour: isRun ? addMeasured(before.metricHour, result, nowMs) : before.metricHour,
  };
}

/** What the limits of a check are decided by. */
type LimitHistories = Pick<CheckRecord, "durationHistory" | "metricHistory">;

/** Returns a result as it counts, by `duration` and `metrics` of its check, and the histories of these after it. */
function withLimits(before: CheckRecord, result: Result, nowMs: number) {
  const { check: { duration, metrics }, condition, output, durationMs } = result;
  if (duration === undefined && metrics === undefined) return { result, ...NO_LIMITS };
  const known = isEdited(result.check, before) ? NO_LIMITS : before;
  const counts = condition === "ok" && isCountedRun(result, before);
  const durationHistory = duration === undefined || !counts
    ? duration && known.durationHistory || null
    : addDuration(duration, known.durationHistory, { durationMs, nowMs });
  const values = metrics === undefined ? NO_VALUES : valuesOf(result);
  const metricHistory = metrics === undefined || !counts
    ? metrics && known.metricHistory || null
    : addMetricValues(metrics, known.metricHistory, { values, nowMs });
  const histories = { durationHistory, metricHistory };
  if (!counts) return { result, ...histories };
  const lacking = lackingValues(metrics, values, before.last);
  const judged = Object.entries(metrics ?? {}).filter(([name]) => !lacking.includes(name));
  const exceeded = [
    ...duration === undefined ? [] : judgeDurations(duration, durationHistory, nowMs),
    ...judgeMetrics(Object.fromEntries(judged), metricHistory, nowMs),
  ].find(({ isExceeded }) => isExceeded);
  if (exceeded === undefined && lacking.length === 0) return { result, ...histories };
  const limited = {
    condition: exceeded === undefined ? "unknown" : "warning",
    output: joinTexts([exceeded?.text ?? describeLack(lacking, values, result.performanceData), output]),
  } as const;
  return { result: { ...result, ...limited }, ...histories };
}

/** Returns the values with limits that neither this run nor the one before measured: the first run of some checks has no rates. */
function lackingValues(
  metrics: Check["metrics"],
  values: MeasuredValues,
  last: KeptResult | null,
): readonly string[] {
  if (metrics === undefined || last === null) return [];
  const lastValues = valuesOf(last);
  return Object.keys(metrics).filter((name) => !values.has(name) && !lastValues.has(name));
}

function describeLack(lacking: readonly string[], values: MeasuredValues, performanceData: string): string {
  const { data, unread } = readPerformanceData(performanceData);
  const counters = data.filter(({ unit }) => unit === "c").map(({ label }) => label);
  const others = data.filter(({ value }) => !Number.isFinite(Number(value)))
    .map(({ label, value }) => `${label}=${value}`);
  const list = (words: readonly string[]): string => firstItems(words.map(quote), NAMES_SHOWN).join(", ");
  return [
    `no value ${lacking.map((name) => quote(name)).join(", ")}, which "metrics" limits`,
    `measured: ${values.size === 0 ? "none" : list([...values.keys()])}`,
    ...counters.length === 0 ? [] : [`counters, which have no limits: ${list(counters)}`],
    ...unread.length + others.length === 0 ? [] : [`no numbers: ${list([...unread, ...others])}`],
  ].join("; ");
}

type MeasuredValues = ReturnType<typeof valuesOf>;

const NO_VALUES: MeasuredValues = new Map();
const NAMES_SHOWN = 8;

const NO_LIMITS: LimitHistories = { durationHistory: null, metricHistory: null };

function joinTexts(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("; ");
}

/** A result that awaits others is none, nor is one without a new result of a location. */
function isCountedRun(result: Result, before: CheckRecord): boolean {
  return result.awaits === undefined && !isUnreported(result, before.last);
}

function rollupEntryOf(
  before: CheckRecord,
  after: CheckRecord,
  { result, isInterrupted = false }: Run,
  nowMs: number,
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
    return {
      ...entry,
      condition,
      durationMs,
      failedStreak: after.condition.atLeast.unknown,
      ...after.metricHour?.startMs === startOf(nowMs, HOUR_MS) && { metrics: after.metricHour.sums },
    };
  }
  return lastedMs === 0 ? null : { ...entry, condition: null, durationMs: 0, failedStreak: 0 };
}

/** What a verdict is about; the record is that after it. */
interface Concluding {
  readonly record: CheckRecord;
  readonly occurrences: number;
  readonly deciding: Deciding;
  /** Whether the action begins: the last one of the record. */
  readonly isActing: boolean;
}

type Conclusion = Omit<Decided, "update" | "result">;

function conclude(verdict: Verdict, concluding: Concluding): Conclusion {
  const action = concluding.isActing ? concluding.record.condition.actions?.at(-1) ?? null : null;
  if (verdict.kind === "notify") return { ...notify(verdict, concluding), suppressed: null, action };
  // A suppressed reminder isn't due later.
  const isDue = verdict.kind === "suppressed" && verdict.event !== "reminder";
  const suppressed = isDue ? verdict.suppressedBy : null;
  const recoveries = suppressed !== null && letsRecoveriesPass(suppressed)
    ? notifyRecovered(concluding)
    : null;
  const { record, occurrences } = concluding;
  return { ...recoveries ?? { record, occurrences, notification: null, queued: [] }, suppressed, action };
}

/**
 * Adds that the error budget burns too fast, if nothing else is sent of the check. While a problem is notified that is no
 * news. It is sent while the check is failing, so that the same dependencies suppress it as its problem; and not in the
 * outage with which it began, which may still become a problem.
 */
function withBurning(concluded: Conclusion, deciding: Deciding): Conclusion {
  const { check, circumstances: { suppressedBy, nowMs } } = deciding;
  const { record } = concluded;
  const { confirmed, notified, burn, problemBeganAtMs, observed } = record.condition;
  const alert = burn?.alert ?? null;
  if (burnPolicyOf(check) === null || burn === undefined || alert === null || alert.isTold) return concluded;
  const condition: ConditionState = { ...record.condition, burn: withTold(burn, alert) };
  if (hasProblem(record.condition) && notified === confirmed) {
    return { ...concluded, record: { ...record, condition } };
  }
  const isDue = concluded.notification === null && confirmed === "ok" && notified === "ok" &&
    problemBeganAtMs !== null && problemBeganAtMs >= alert.sinceMs && observed !== null && observed !== "ok";
  if (!isDue) return concluded;
  if (suppressedBy !== null) return { ...concluded, suppressed: concluded.suppressed ?? suppressedBy };
  const output = record.last?.output ?? "";
  const notification: Notification = {
    ...PLAIN_NOTIFICATION,
    // Less than a problem that is confirmed as critical.
    ...factsOf("warning", record, deciding),
    event: "burning",
    previous: confirmed,
    output: [describeBurning(check, record.condition, nowMs), output]
      .filter((part) => part !== "").join("; last result: "),
    detail: record.last?.detail ?? "",
    problemBeganAtMs,
    decidedAtMs: nowMs,
    occurrences: occurrences(record.condition, observed),
  };
  return {
    ...concluded,
    record: { ...record, condition },
    notification,
    queued: queueDue(notification, condition, deciding),
  };
}

/** Of a suppressed change between problems: the recovery for channels that are not for the new condition. */
function notifyRecovered(concluding: Concluding): Omit<Conclusion, "suppressed" | "action"> | null {
  const { record: { condition: { confirmed, notified, problemBeganAtMs } }, deciding } = concluding;
  if (confirmed === null) return null;
  const mayBeDue = deciding.check.notifications.some(({ conditions }) =>
    conditions?.includes(confirmed) === false
  );
  if (!mayBeDue) return null;
  const recoveries = notify({
    event: "recovery",
    condition: confirmed,
    previous: notified,
    problemBeganAtMs: problemBeganAtMs ?? deciding.situation.nowMs,
  }, concluding);
  return recoveries.queued.length === 0 ? null : recoveries;
}

function notify(
  verdict: Omit<Extract<Verdict, { readonly kind: "notify" }>, "kind">,
  { record, occurrences: seen, deciding }: Concluding,
): Omit<Conclusion, "suppressed" | "action"> {
  const { check, acknowledged, situation: { nowMs, dependents } } = deciding;
  const described = verdict.condition === "ok" ? record.last : record.failing ?? record.last;
  const changedAtMs = record.condition.confirmedSinceMs ?? nowMs;
  const notification: Notification = {
    ...factsOf(verdict.condition, record, deciding),
    event: verdict.event,
    previous: verdict.previous,
    output: joinTexts([
      described?.output ?? "",
      ...verdict.condition === "ok" ? [] : [
        describeActions(check, record.condition),
        describeBurning(check, record.condition, nowMs),
      ],
    ]),
    detail: described?.detail ?? "",
    problemBeganAtMs: verdict.problemBeganAtMs,
    // A recovery may have been suppressed, or its record been written by another member.
    decidedAtMs: verdict.event === "recovery" ? Math.min(changedAtMs, nowMs) : nowMs,
    // The last result may be worse than the condition that is confirmed.
    occurrences: occurrences(record.condition, verdict.condition),
    acknowledged,
    dependents: verdict.event === "recovery" ? 0 : dependents,
  };
  return {
    record,
    occurrences: seen,
    notification,
    queued: queueDue(notification, record.condition, deciding),
  };
}

/** What every notification has of a check after a decision. */
function factsOf(
  condition: Condition,
  { condition: { flappingSinceMs }, nextRunAtMs }: CheckRecord,
  { check: { name: check, title }, situation: { newId, hostName, nowMs } }: Deciding,
) {
  return {
    ...{ id: newId({ check, condition }), check, title: title ?? null, condition, hostName },
    nextRunAtMs: nextRunAtMs ?? nowMs,
    flapping: flappingSinceMs !== null,
  };
}

/** Returns a notification as it is queued for each channel that it is due to, given the state after it. */
function queueDue(
  notification: Notification,
  state: ConditionState,
  { channels, lastNotifiedOf, circumstances, situation }: Deciding,
): readonly QueuedNotification[] {
  return queueFor(notification, {
    ...situation,
    ...{ channels, lastNotifiedOf },
    before: conditionBefore(state),
    isLeftOut: (channel, conditions) => isLeftOut(channel, conditions, state, circumstances),
  });
}
