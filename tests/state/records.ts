import type {
  CheckRecord,
  CheckUpdate,
  ConditionChange,
  JobEnd,
  JobRun,
  JournalBlock,
  JournalRun,
  KeptResult,
  RollupEntry,
  Store,
} from "../../src/domain/store.ts";
import { addRun } from "../../src/state/journal.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { MonitorRun } from "../../src/domain/monitor_run.ts";
import type {
  ChannelCount,
  DeliveryMarker,
  LoggedDelivery,
  Notification,
  OutboxChange,
  PageAction,
  QueuedNotification,
  Silence,
} from "../../src/domain/outbox.ts";
import { HOUR_MS } from "../../src/shared/time_units.ts";

/** Some time: 2026-01-31T10:00:00Z. */
export const NOW_MS = Date.UTC(2026, 0, 31, 10);

/** Returns a record with every field set. */
export function recordOf(name: string, fields: Partial<CheckRecord> = {}): CheckRecord {
  return {
    name,
    failing: { output: "the last failure", detail: "in detail" },
    condition: {
      confirmed: "warning",
      confirmedSinceMs: NOW_MS - 60_000,
      leftAtMs: {
        pending: NOW_MS - HOUR_MS,
        ok: NOW_MS - 60_000,
        unknown: null,
        warning: null,
        critical: NOW_MS - 900_000,
      },
      atLeast: { ok: 9, unknown: 4, warning: 3, critical: 0 },
      atMost: { ok: 0, unknown: 0, warning: 3, critical: 9 },
      observed: "warning",
      observedAtMs: NOW_MS,
      problemBeganAtMs: NOW_MS - 120_000,
      notified: "ok",
      notifiedAtMs: NOW_MS - 30_000,
      notifiedSinceMs: NOW_MS - 40_000,
      notifiedProblemBeganAtMs: null,
      recent: "owcu",
      sinceLowered: 3,
      flappingSinceMs: null,
      reminders: 2,
    },
    last: resultOf(),
    nextRunAtMs: NOW_MS + 60_000,
    overdueAtMs: NOW_MS + 180_000,
    missedRuns: 2,
    runs: { ok: 7, unknown: 1, warning: 3, critical: 2 },
    durationTotalMs: 159.5,
    seenAtMs: NOW_MS,
    durationHistory: {
      rule: "overMs 3600000,p95AboveMs 1000",
      parts: [[5_000_000, 3, 1], [5_000_001, 2, 0]],
      hour: 490_000,
      levels: [[40, 3], [52, 2]],
      medians: "#~ Z",
      otherUsual: { hour: 500_000, levels: [[40, 1]], medians: "" },
    },
    metricHistory: {
      load1: {
        rule: "overMs 3600000,p95AboveMs 4",
        parts: [[5_000_000, 3, 1]],
        hour: 0,
        levels: [],
        medians: "",
      },
    },
    metricHour: {
      startMs: NOW_MS,
      sums: { load1: [3, 1.5, 0.25, 1, 18, 402128895, 2, -524287, 1] },
      others: [{ startMs: NOW_MS - HOUR_MS, sums: { load1: [1, 2, 2, 2] } }],
    },
    journal: journalOf([
      { endedAtMs: NOW_MS - 120_000, condition: "warning", output: "status is 500" },
      { endedAtMs: NOW_MS - 60_000 },
      { endedAtMs: NOW_MS, condition: "critical", output: "refused" },
    ]).journal,
    ...fields,
  };
}

/** A run of a journal that is `ok` and like the one before. */
export const OK_RUN: Omit<JournalRun, "endedAtMs"> = {
  condition: "ok",
  awaits: null,
  isLate: false,
  isAfterGap: false,
  isInterrupted: false,
  isDecisive: false,
  output: "",
};

/** A run of a journal, `ok` unless given. */
type RunFields = Partial<JournalRun> & Pick<JournalRun, "endedAtMs">;

/** The packed journal of a record after some runs, and the blocks that left it. */
export function journalOf(
  runs: readonly RunFields[],
  before: Uint8Array | null = null,
): { readonly journal: Uint8Array | null; readonly blocks: readonly JournalBlock[] } {
  let journal = before;
  const blocks: JournalBlock[] = [];
  for (const run of runs) {
    const added = addRun(journal, { ...OK_RUN, ...run });
    journal = added.journal;
    if (added.block !== null) blocks.push(added.block);
  }
  return { journal, blocks };
}

/** Returns a result with every field set. */
export function resultOf(fields: Partial<KeptResult> = {}): KeptResult {
  return {
    condition: "warning",
    output: "status is 500, expected 200",
    detail: "first line\nsecond line",
    performanceData: "time=1s",
    metrics: { status: 500 },
    lateMs: 3,
    startedAtMs: NOW_MS - 12,
    durationMs: 12.25,
    ...fields,
  };
}

/** A roll-up entry of an `ok` run of 10 ms, the first one since a gap. */
export function entryOf(atMs: number, fields: Partial<RollupEntry> = {}): RollupEntry {
  return { atMs, condition: "ok", durationMs: 10, lastedMs: 0, lasted: "ok", failedStreak: 0, ...fields };
}

/** A change from `ok` to `critical`. */
export function changeOf(name: string, atMs: number, fields: Partial<ConditionChange> = {}): ConditionChange {
  return { name, atMs, from: "ok", to: "critical", output: "connection refused", trace: "", ...fields };
}

/** Returns an update of a check that ran recently, with nothing else in it unless given. */
export function updateOf(name: string, fields: Partial<CheckUpdate> = {}): CheckUpdate {
  return { record: recordOf(name), rollup: null, change: null, queued: [], ...fields };
}

/** Returns a notification with every field set. */
export function notificationOf(check: string, fields: Partial<Notification> = {}): Notification {
  return {
    id: `report-of-${check}`,
    check,
    title: "A website",
    event: "change",
    condition: "critical",
    previous: "warning",
    output: "connection refused",
    detail: "first line\nsecond line",
    problemBeganAtMs: NOW_MS - 120_000,
    decidedAtMs: NOW_MS - 1,
    occurrences: 3,
    nextRunAtMs: NOW_MS + 60_000,
    hostName: "host.example",
    acknowledged: null,
    flapping: false,
    dependents: 0,
    ...fields,
  };
}

/** Returns a row with every field set. */
export function queuedOf(
  id: string,
  sequence: number,
  fields: Partial<QueuedNotification> = {},
): QueuedNotification {
  return {
    id,
    notification: notificationOf("web"),
    missedProblem: null,
    summarized: 0,
    channelKey: "email a1b2",
    channelName: "mail to operators",
    sequence,
    state: "pending",
    attempts: 2,
    nextAttemptAtMs: NOW_MS + 20_000,
    lastFailure: "connection refused",
    firstFailedAtMs: NOW_MS - 10_000,
    messageId: "message-1",
    ...fields,
  };
}

/** Returns the last notification of a channel for a check. */
export function markerOf(check: string, fields: Partial<DeliveryMarker> = {}): DeliveryMarker {
  return {
    check,
    channelKey: "email a1b2",
    messageId: "message-1",
    condition: "critical",
    certain: true,
    ...fields,
  };
}

/** A change of the outbox, with nothing in it unless given. */
export function outboxChangeOf(fields: Partial<OutboxChange>): OutboxChange {
  return { changed: [], removed: [], markers: [], cleared: [], ...fields };
}

/** Returns the accepted and rejected deliveries of a channel. */
export function countOf(channelKey: string, fields: Partial<ChannelCount> = {}): ChannelCount {
  return {
    channelKey,
    channelName: `${channelKey} of somebody`,
    sent: 5,
    failedAttempts: 2,
    limitUse: null,
    dropped: 1,
    summarized: 4,
    countedAtMs: NOW_MS,
    ...fields,
  };
}

/** Returns a logged delivery with every field set. */
export function deliveryOf(check: string, fields: Partial<LoggedDelivery> = {}): LoggedDelivery {
  return {
    id: `id of ${check}`,
    check,
    channelKey: "webhook",
    channelName: "webhook of somebody",
    event: "recovery",
    condition: "ok",
    missedProblem: "warning",
    decidedAtMs: NOW_MS - 2_000,
    atMs: NOW_MS,
    outcome: "accepted",
    answer: "one receiver was rejected",
    messageId: "message-1",
    firstFailedAtMs: null,
    messageSize: 2,
    summarized: 3,
    cause: { text: "all connect to 192.0.2.7", checks: 4, sinceMs: NOW_MS - 60_000 },
    ...fields,
  };
}

/** A silence of an hour that began a minute ago. */
export function silenceOf(id: string, fields: Partial<Silence> = {}): Silence {
  return {
    id,
    check: "web",
    tag: null,
    fromMs: NOW_MS - 60_000,
    untilMs: NOW_MS + HOUR_MS - 60_000,
    reason: "maintenance",
    kind: "silence",
    problemBeganAtMs: null,
    by: null,
    ...fields,
  };
}

/** Returns an action of a minute ago. */
export function actionOf(id: string, fields: Partial<PageAction> = {}): PageAction {
  return {
    id,
    atMs: NOW_MS - 60_000,
    check: "web",
    action: "silence",
    by: "Ada from 192.0.2.7",
    untilMs: null,
    note: "",
    ...fields,
  };
}

/** Ends the started maintenance windows, as the command does. */
export async function endMaintenance(
  store: Pick<Store, "silences" | "addSilences">,
  nowMs: number,
): Promise<void> {
  const started = (await store.silences(nowMs)).filter(({ kind }) => kind === "maintenance");
  await store.addSilences(started.map((window) => ({ ...window, untilMs: nowMs })));
}

/** Returns the end of a run of a job, with every field set. */
export function endOf(fields: Partial<JobEnd> = {}): JobEnd {
  return {
    atMs: NOW_MS - 1_000,
    durationMs: 35_250.5,
    how: "signalled",
    exitCode: 137,
    reason: "SIGKILL",
    output: "first line\nlast line",
    ...fields,
  };
}

/** Returns a run of a job that began a minute ago, in progress unless an end is given. */
export function beatOf(id: string, end: JobEnd | null = null, fields: Partial<JobRun> = {}): JobRun {
  return { id, startedAtMs: NOW_MS - 60_000, end, ...fields };
}

/** Returns the service that runs the checks, with every field set. */
export function monitorRunOf(fields: Partial<MonitorRun> = {}): MonitorRun {
  return {
    mode: "service",
    processId: 4711,
    controlPath: "/run/monitor/control.sock",
    startedAtMs: NOW_MS - HOUR_MS,
    ended: { state: "stopped", sinceMs: NOW_MS - 1 },
    configPath: "/etc/monitor/monitor.jsonc",
    configHash: "a1b2",
    configLoadedAtMs: NOW_MS - 60_000,
    failedReload: { atMs: NOW_MS, reason: "1 error" },
    checks: [{ name: "web", definition: "a1", locations: { from: ["paris"], agree: 1 } }, { name: "db" }],
    ...fields,
  };
}

/** Counts of one condition. */
export function countsOf(condition: Condition, count: number): Record<Condition, number> {
  return { ok: 0, unknown: 0, warning: 0, critical: 0, [condition]: count };
}

/** Returns the records of a store, whether it is shared or not. */
export async function recordsIn(store: Pick<Store, "records">): Promise<readonly CheckRecord[]> {
  return (await store.records()).map(({ isShared: _, ...record }) => record);
}
