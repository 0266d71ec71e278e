/**
 * Deep copies of arguments: a store keeps nothing that a caller can change later, and nothing that is not declared,
 * such as the check (with its secrets) of a result.
 */
import type { ConditionCounts, ConditionState } from "../../src/domain/condition_state.ts";
import type { JobEnd, JobRun } from "../../src/domain/job_runs.ts";
import type { MonitorRun } from "../../src/domain/monitor_run.ts";
import type { DeliveryMarker, QueuedNotification, Silence } from "../../src/domain/outbox.ts";
import type { Notification } from "../../src/domain/notification.ts";
import type { CheckRecord, ConditionChange, KeptResult, Rollup } from "../../src/domain/store.ts";
import { cutChange } from "../../src/state/retention.ts";

/** A copy of a record. */
export function copyRecord(record: CheckRecord): CheckRecord {
  return {
    name: record.name,
    condition: copyConditionState(record.condition),
    last: record.last === null ? null : copyKeptResult(record.last),
    failing: record.failing === null ? null : { ...record.failing },
    nextRunAtMs: record.nextRunAtMs,
    overdueAtMs: record.overdueAtMs,
    missedRuns: record.missedRuns,
    runs: copyCounts(record.runs),
    durationTotalMs: record.durationTotalMs,
    seenAtMs: record.seenAtMs,
  };
}

/** A copy of a condition state. */
export function copyConditionState(state: ConditionState): ConditionState {
  return {
    confirmed: state.confirmed,
    confirmedSinceMs: state.confirmedSinceMs,
    leftAtMs: { ...state.leftAtMs },
    atLeast: copyCounts(state.atLeast),
    atMost: copyCounts(state.atMost),
    observed: state.observed,
    observedAtMs: state.observedAtMs,
    problemBeganAtMs: state.problemBeganAtMs,
    notified: state.notified,
    notifiedAtMs: state.notifiedAtMs,
    notifiedSinceMs: state.notifiedSinceMs,
    notifiedProblemBeganAtMs: state.notifiedProblemBeganAtMs,
    recent: state.recent,
    sinceLowered: state.sinceLowered,
    flappingSinceMs: state.flappingSinceMs,
    reminders: state.reminders,
  };
}

/** A copy of a result. */
export function copyKeptResult(result: KeptResult): KeptResult {
  return {
    condition: result.condition,
    output: result.output,
    detail: result.detail,
    performanceData: result.performanceData,
    metrics: { ...result.metrics },
    startedAtMs: result.startedAtMs,
    durationMs: result.durationMs,
    lateMs: result.lateMs,
  };
}

/** A copy of a change, of its output as much as is kept. */
export function copyChange(change: ConditionChange): ConditionChange {
  return cutChange(change);
}

/** A copy of a roll-up. */
export function copyRollup(rollup: Rollup): Rollup {
  return { ...rollup, observed: copyCounts(rollup.observed), lastedMs: copyCounts(rollup.lastedMs) };
}

/** A copy of a row of the outbox. */
export function copyQueued(row: QueuedNotification): QueuedNotification {
  return {
    id: row.id,
    notification: copyNotification(row.notification),
    missedProblem: row.missedProblem === null ? null : copyNotification(row.missedProblem),
    summarized: row.summarized,
    channelKey: row.channelKey,
    channelName: row.channelName,
    sequence: row.sequence,
    state: row.state,
    attempts: row.attempts,
    nextAttemptAtMs: row.nextAttemptAtMs,
    lastFailure: row.lastFailure,
    firstFailedAtMs: row.firstFailedAtMs,
    messageId: row.messageId,
  };
}

/** A copy of a notification. */
export function copyNotification(notification: Notification): Notification {
  return {
    id: notification.id,
    check: notification.check,
    title: notification.title,
    event: notification.event,
    condition: notification.condition,
    previous: notification.previous,
    output: notification.output,
    detail: notification.detail,
    problemBeganAtMs: notification.problemBeganAtMs,
    decidedAtMs: notification.decidedAtMs,
    occurrences: notification.occurrences,
    nextRunAtMs: notification.nextRunAtMs,
    hostName: notification.hostName,
    acknowledged: notification.acknowledged,
    flapping: notification.flapping,
    dependents: notification.dependents,
    ...notification.summary !== undefined && { summary: { ...notification.summary } },
  };
}

/** Returns a copy of a marker. */
export function copyMarker(marked: DeliveryMarker): DeliveryMarker {
  return {
    check: marked.check,
    channelKey: marked.channelKey,
    messageId: marked.messageId,
    condition: marked.condition,
    certain: marked.certain,
  };
}

/** A copy of a run of a job. */
export function copyJobRun(run: JobRun): JobRun {
  return { id: run.id, startedAtMs: run.startedAtMs, end: run.end === null ? null : copyJobEnd(run.end) };
}

/** A copy of the end of a run. */
export function copyJobEnd(end: JobEnd): JobEnd {
  return {
    atMs: end.atMs,
    durationMs: end.durationMs,
    how: end.how,
    exitCode: end.exitCode,
    reason: end.reason,
    output: end.output,
  };
}

/** Returns a copy of the service that runs the checks. */
export function copyMonitorRun(run: MonitorRun): MonitorRun {
  return {
    mode: run.mode,
    processId: run.processId,
    controlPath: run.controlPath,
    startedAtMs: run.startedAtMs,
    stoppedAtMs: run.stoppedAtMs,
    configPath: run.configPath,
    configHash: run.configHash,
    configLoadedAtMs: run.configLoadedAtMs,
    checks: [...run.checks],
  };
}

/** A copy of a silence. */
export function copySilence(silence: Silence): Silence {
  return {
    id: silence.id,
    check: silence.check,
    tag: silence.tag,
    fromMs: silence.fromMs,
    untilMs: silence.untilMs,
    reason: silence.reason,
    kind: silence.kind,
    problemBeganAtMs: silence.problemBeganAtMs,
  };
}

function copyCounts(counts: ConditionCounts): ConditionCounts {
  return { ok: counts.ok, unknown: counts.unknown, warning: counts.warning, critical: counts.critical };
}
