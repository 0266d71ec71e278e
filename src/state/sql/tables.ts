/**
 * The tables, each declared once. Conditions are stored by name, times as wall time in milliseconds since 1970. A
 * `key` is an id everywhere else; the `id` of a table keeps the order of insertion.
 *
 * The outbox, its markers, silences and jobs have names of checks, not references: if a record can't be persisted,
 * the outcomes of its notifications are persisted nevertheless, and a job may run before its check does.
 */
import {
  type ActionRun,
  type Burn,
  type ConditionCounts,
  type ConditionState,
  type ConditionTimes,
  type Downtime,
  eachCondition,
} from "../../domain/condition.ts";
import {
  type CheckRecord,
  type ConditionChange,
  type DurationHistory,
  type JobEnd,
  type JobRun,
  type JournalBlock,
  type KeptResult,
  type LastMetricHour,
  type MetricSums,
  type QueuedSummary,
  type Rollup,
  StoreError,
} from "../../domain/store.ts";
import type { Awaited, Locations, LocationVote } from "../../domain/check.ts";
import type { EndOfRun, MonitorRun } from "../../domain/monitor_run.ts";
import {
  type Cause,
  type ChannelCount,
  type DeliveryMarker,
  EVENTS,
  type LimitUse,
  type LoggedDelivery,
  type Notification,
  type PageAction,
  type QueuedNotification,
  type RenderedSummary,
  type Silence,
} from "../../domain/outbox.ts";
import type { ReportedRun, Reporting, StoredReport } from "../../domain/reports.ts";
import {
  boolean,
  byName,
  bytes,
  type Codec,
  condition,
  flag,
  list,
  nullable,
  number,
  object,
  optional,
  shownCondition,
  text,
  word,
} from "../codec.ts";
import { CHANGE_OUTPUT_BYTES_MAX, CHANGE_TRACE_BYTES_MAX, type ClockReadings } from "../retention.ts";
import { NO_RUNS } from "../../shared/histograms.ts";
import {
  addColumn,
  addedJson,
  addedPairs,
  blob,
  counts,
  createTable,
  cutString,
  type Declared,
  field,
  type Fields,
  integer,
  integerOrNull,
  jsonField,
  jsonFieldOrNull,
  oneOf,
  real,
  reference,
  string,
  stringOrNull,
  type Table,
  table,
} from "./table_declaration.ts";

const COUNTS: Codec<ConditionCounts> = object(eachCondition(() => number));

const TIMES: Codec<ConditionTimes> = object({
  pending: nullable(number),
  ...eachCondition(() => nullable(number)),
});

const ACTION_RUN: Codec<ActionRun> = object({
  atMs: number,
  endedAtMs: nullable(number),
  outcome: word<ActionRun["outcome"]>(["none", "succeeded", "failed", "not_started"]),
  reason: text,
});

const DOWNTIME: Codec<Downtime> = object({ atMs: number, downMs: number });

const BURN: Codec<Burn> = object({
  recent: list(DOWNTIME),
  days: list(DOWNTIME),
  alert: nullable(object({ rate: number, sinceMs: number, isTold: flag })),
});

const CONDITION_STATE: Codec<ConditionState> = object({
  confirmed: nullable(condition),
  confirmedSinceMs: nullable(number),
  leftAtMs: TIMES,
  atLeast: COUNTS,
  atMost: COUNTS,
  recent: text,
  sinceLowered: number,
  flappingSinceMs: nullable(number),
  observed: nullable(condition),
  observedAtMs: nullable(number),
  problemBeganAtMs: nullable(number),
  notified: condition,
  notifiedAtMs: nullable(number),
  notifiedSinceMs: nullable(number),
  reminders: number,
  notifiedProblemBeganAtMs: nullable(number),
  actions: optional(list(ACTION_RUN)),
  burn: optional(BURN),
});

const LOCATION_VOTE: Codec<LocationVote> = object({
  location: text,
  condition: nullable(condition),
  output: text,
  durationMs: nullable(number),
  run: optional(number),
});

export const RESULT: Codec<KeptResult> = object({
  condition,
  output: text,
  detail: text,
  performanceData: text,
  metrics: byName(number),
  startedAtMs: number,
  durationMs: number,
  lateMs: nullable(number),
  locations: optional(list(LOCATION_VOTE)),
  definition: optional(text),
  memory: optional(text),
  report: optional(object({ stream: text, sequence: number })),
  isLate: optional(boolean),
  attributes: optional(object({ suspected: list(text), worked: list(text) })),
});

const USUAL_DURATIONS = { hour: number, levels: list(list(number)), medians: text };

const DURATION_HISTORY: Codec<DurationHistory> = object({
  rule: text,
  parts: list(list(number)),
  ...USUAL_DURATIONS,
  otherUsual: optional(object(USUAL_DURATIONS)),
});

export const METRIC_SUMS: Codec<MetricSums> = byName(list(number));

const METRIC_HOUR = { startMs: number, sums: METRIC_SUMS };

type StoredRecord = Omit<CheckRecord, "isShared">;

const RECORD: Fields<StoredRecord> = {
  name: string("name"),
  condition: jsonField("condition", CONDITION_STATE),
  last: jsonFieldOrNull("last", RESULT),
  failing: jsonFieldOrNull("failing", object({ output: text, detail: text })),
  nextRunAtMs: integerOrNull("next_run_at_ms"),
  overdueAtMs: integerOrNull("overdue_at_ms"),
  missedRuns: integer("missed_runs"),
  runs: counts((condition) => `runs_${condition}`),
  durationTotalMs: real("duration_total_ms"),
  seenAtMs: integer("seen_at_ms"),
  journal: field("journal", "BLOB", { ...nullable(bytes), isAdded: true }),
  durationHistory: addedJson("duration_history", DURATION_HISTORY),
  metricHour: addedJson(
    "metric_hour",
    object<LastMetricHour>({ ...METRIC_HOUR, others: optional(list(object(METRIC_HOUR))) }),
  ),
  metricHistory: addedJson("metric_history", byName(DURATION_HISTORY)),
};

/** A record with its newest runs, see rows.ts. */
export const CHECKS: Table<StoredRecord & { readonly freshRuns: Uint8Array }> = table(
  "checks",
  { ...RECORD, freshRuns: blob("fresh_runs", { merge: "prepend" }) },
  { unique: ["name"] },
);

/** The columns of `checks` that make a record. */
export const RECORDS: Table<StoredRecord> = table("checks", RECORD, { unique: ["name"] });

/** The packed runs of a check that aren't fresh any more. */
const RECENT_RUNS: Table<{ readonly checkId: number; readonly runs: Uint8Array }> = table(
  "recent_runs",
  { checkId: reference("check_id", "checks"), runs: blob("runs") },
  { primary: ["check_id"] },
);

/**
 * The rows of journals that left the records of their checks. Two blocks with one time, after a step of the clock, become
 * one.
 */
export const JOURNAL: Table<JournalBlock & { readonly checkId: number }> = table("journal", {
  checkId: reference("check_id", "checks"),
  lastMs: integer("last_ms"),
  rows: blob("results", { merge: "prepend" }),
}, { primary: ["check_id", "last_ms"] });

export const CHANGES: Table<Omit<ConditionChange, "name"> & { readonly checkId: number }> = table("changes", {
  checkId: reference("check_id", "checks"),
  atMs: integer("at_ms"),
  from: field("from_condition", "TEXT NOT NULL", shownCondition),
  to: field("to_condition", "TEXT NOT NULL", condition),
  output: cutString("output", CHANGE_OUTPUT_BYTES_MAX),
  trace: cutString("trace", CHANGE_TRACE_BYTES_MAX),
});

export const DURATION_COLUMNS: readonly string[] = Array.from(
  { length: NO_RUNS.length / 2 },
  (_, index) => `durations_${index}`,
);

export type StoredRollup = Omit<Rollup, "name"> & { readonly checkId: number };

const ROLLUP: Fields<Omit<StoredRollup, "durations">> = {
  checkId: reference("check_id", "checks"),
  startMs: integer("start_ms"),
  spanMs: integer("span_ms"),
  observed: counts((condition) => `observed_${condition}`, { merge: "add" }),
  lastedMs: counts((condition) => `lasted_${condition}_ms`, { merge: "add" }),
  durationTotalMs: real("duration_total_ms", { merge: "add" }),
  durationMaxMs: real("duration_max_ms", { merge: "max" }),
  failedStreakMax: integer("failed_streak_max", { merge: "max" }),
  metrics: addedJson("metrics", METRIC_SUMS, "fill"),
};

const ROLLUP_KEY = ["check_id", "start_ms", "span_ms"];

/** Hourly aggregates, and daily ones of older days. */
export const ROLLUPS: Table<StoredRollup> = table("rollups", {
  ...ROLLUP,
  durations: addedPairs(DURATION_COLUMNS),
}, { primary: ROLLUP_KEY });

/** The columns of `rollups` in front of the durations. */
export const ROLLUP_TIMES: Table<Omit<StoredRollup, "durations">> = table("rollups", ROLLUP, {
  primary: ROLLUP_KEY,
});

const RENDERED_SUMMARY: Codec<RenderedSummary> = object({ html: text, json: text });

const EVENT = word(EVENTS);

const CAUSE: Codec<Cause> = object({ text, checks: number, sinceMs: number });

const NOTIFICATION: Codec<Notification> = object({
  id: text,
  check: text,
  title: nullable(text),
  event: EVENT,
  condition,
  previous: shownCondition,
  output: text,
  detail: text,
  problemBeganAtMs: number,
  decidedAtMs: number,
  occurrences: number,
  nextRunAtMs: number,
  hostName: text,
  acknowledged: nullable(text),
  flapping: flag,
  dependents: number,
  cause: optional(CAUSE),
  summary: optional(RENDERED_SUMMARY),
  token: optional(text),
});

/** The queues of all channels. `sequence` isn't unique, so that no error with it makes a `save` fail. */
export const OUTBOX: Table<QueuedNotification> = table("outbox", {
  id: string("key"),
  sequence: integer("sequence"),
  channelKey: string("channel_key"),
  channelName: string("channel_name"),
  state: oneOf("state", ["pending", "rejected", "dropped"]),
  attempts: integer("attempts"),
  nextAttemptAtMs: integer("next_attempt_at_ms"),
  lastFailure: stringOrNull("last_failure"),
  firstFailedAtMs: integerOrNull("first_failed_at_ms"),
  messageId: stringOrNull("message_id"),
  notification: jsonField("notification", NOTIFICATION),
  missedProblem: jsonFieldOrNull("missed_problem", NOTIFICATION),
  summarized: integer("summarized"),
}, { unique: ["key"] });

/** The last notification of each channel. */
export const DELIVERY_MARKERS: Table<DeliveryMarker> = table("delivery_markers", {
  check: string("check_name"),
  channelKey: string("channel_key"),
  messageId: string("message_id"),
  condition: field("condition", "TEXT NOT NULL", condition),
  certain: field("certain", "INTEGER NOT NULL", flag),
}, { unique: ["check_name", "channel_key"] });

const LIMIT_USE: Codec<LimitUse> = object({ sentAtMs: list(number), limitedUntilMs: nullable(number) });

/** Accepted and rejected deliveries of each channel, and the use of its limit. */
export const CHANNEL_COUNTS: Table<ChannelCount> = table("channel_counts", {
  channelKey: string("channel_key"),
  channelName: string("channel_name"),
  sent: integer("sent", { merge: "add" }),
  failedAttempts: integer("failed_attempts", { merge: "add" }),
  dropped: integer("dropped", { merge: "add" }),
  summarized: integer("summarized", { merge: "add" }),
  countedAtMs: integer("counted_at_ms", { merge: "max" }),
  limitUse: jsonFieldOrNull("limit_use", LIMIT_USE, { merge: "fill" }),
}, { unique: ["channel_key"] });

/** The log of deliveries. What is logged again, since it is unknown whether it was, has the same unique columns. */
export const DELIVERIES: Table<LoggedDelivery> = table("deliveries", {
  atMs: integer("at_ms"),
  id: string("key"),
  outcome: oneOf("outcome", ["accepted", "rejected", "dropped"]),
  check: string("check_name"),
  channelKey: string("channel_key"),
  channelName: string("channel_name"),
  event: field("event", "TEXT NOT NULL", EVENT),
  condition: field("condition", "TEXT NOT NULL", condition),
  missedProblem: field("missed_problem", "TEXT", nullable(condition)),
  decidedAtMs: integer("decided_at_ms"),
  firstFailedAtMs: integerOrNull("first_failed_at_ms"),
  answer: string("answer"),
  messageId: stringOrNull("message_id"),
  messageSize: integer("message_size"),
  summarized: integer("summarized"),
  cause: addedJson("cause", CAUSE),
}, { unique: ["at_ms", "key", "outcome"] });

/** Silences, acknowledgements and started maintenance windows of one check, of a tag, or of all (both are NULL). */
export const SILENCES: Table<Silence> = table("silences", {
  id: string("key"),
  kind: oneOf("kind", ["silence", "acknowledgement", "maintenance"]),
  check: stringOrNull("check_name"),
  tag: stringOrNull("tag"),
  fromMs: integer("from_ms"),
  untilMs: integer("until_ms"),
  problemBeganAtMs: integerOrNull("problem_began_at_ms"),
  reason: string("reason"),
  by: stringOrNull("by_whom", { isAdded: true }),
}, { unique: ["key"] });

/** What people did on the live page. What is recorded again, since it is unknown whether it was, has the same key. */
export const ACTIONS: Table<PageAction> = table("actions", {
  id: string("key"),
  atMs: integer("at_ms"),
  check: string("check_name"),
  action: oneOf("action", ["acknowledge", "silence", "maintenance", "end", "run"]),
  by: string("by_whom"),
  untilMs: integerOrNull("until_ms"),
  note: string("note"),
}, { unique: ["key"] });

const CREATE_ACTIONS_INDEX = "CREATE INDEX actions_by_check ON actions (check_name, at_ms)";

/** Jobs, and the time when each was first recorded; a clock that is set back makes that earlier. */
export const JOBS: Table<{ readonly name: string; readonly sinceMs: number }> = table("jobs", {
  name: string("name"),
  sinceMs: integer("since_ms", { merge: "min" }),
}, { unique: ["name"] });

const JOB_END: Codec<JobEnd> = object({
  atMs: number,
  durationMs: nullable(number),
  how: word<JobEnd["how"]>(["exited", "signalled", "not_started", "noted"]),
  exitCode: number,
  reason: text,
  output: text,
});

/** Runs of jobs. The order of their ends is that in which they were persisted, whatever the clock was. */
export const JOB_RUNS: Table<JobRun & { readonly jobId: number; readonly endOrder: number | null }> = table(
  "job_runs",
  {
    jobId: reference("job_id", "jobs"),
    id: string("key"),
    startedAtMs: integer("started_at_ms"),
    endOrder: integerOrNull("end_order"),
    end: jsonFieldOrNull("ending", JOB_END),
  },
  { unique: ["key"] },
);

export const CLOCK: Table<ClockReadings> = table("clock", {
  earlierMs: integer("earlier_ms"),
  laterMs: integer("later_ms"),
}, { hasOneRow: true });

const LOCATIONS: Codec<Locations> = object({ from: list(text), agree: number });

const MONITOR_RUN: Codec<MonitorRun> = object({
  mode: word<MonitorRun["mode"]>(["service", "cron"]),
  processId: nullable(number),
  controlPath: nullable(text),
  startedAtMs: number,
  ended: nullable(object({ state: word<EndOfRun["state"]>(["stopped", "died"]), sinceMs: number })),
  aliveAtMs: optional(number),
  configPath: nullable(text),
  configHash: text,
  configLoadedAtMs: number,
  failedReload: nullable(object({ atMs: number, reason: text })),
  checks: list(object({ name: text, definition: optional(text), locations: optional(LOCATIONS) })),
});

export const MONITOR: Table<{ readonly run: MonitorRun }> = table("monitor", {
  run: jsonField("run", MONITOR_RUN),
}, { hasOneRow: true });

export const SUMMARY: Table<QueuedSummary> = table("summary", {
  schedule: string("schedule"),
  scheduledMs: integer("scheduled_at_ms"),
}, { hasOneRow: true });

export const REPORTED_RUN: { readonly [K in keyof ReportedRun]-?: Codec<ReportedRun[K]> } = {
  check: text,
  condition,
  output: text,
  detail: text,
  performanceData: text,
  metrics: byName(number),
  durationMs: number,
  lateMs: nullable(number),
  nextRunInMs: number,
  overdueInMs: number,
  awaits: optional(word<Awaited>(["checks", "job", "report"])),
  isInterrupted: optional(boolean),
};

/** Results that another monitor is to receive, the oldest first. */
export const REPORTS: Table<StoredReport> = table("reports", {
  sequence: integer("sequence"),
  endedAtMs: integer("ended_at_ms"),
  process: string("process"),
  monotonicMs: real("monotonic_ms"),
  run: jsonField("run", object<ReportedRun>(REPORTED_RUN)),
}, { unique: ["sequence"] });

export const REPORTING: Table<Reporting> = table("reporting", {
  stream: string("stream"),
  received: integer("received"),
  dropped: integer("dropped"),
  rejected: jsonField("rejected", list(text)),
  sentAtMs: integerOrNull("sent_at_ms"),
  failure: stringOrNull("failure"),
}, { hasOneRow: true });

/** The tables with data of a check, which are deleted before it. */
export const CHECK_TABLES: readonly string[] = ["journal", "changes", "rollups", "recent_runs"];

export const FIRST_TABLES: readonly Declared[] = [
  CHECKS,
  RECENT_RUNS,
  CHANGES,
  ROLLUPS,
  OUTBOX,
  DELIVERY_MARKERS,
  CHANNEL_COUNTS,
  SILENCES,
  JOBS,
  JOB_RUNS,
  CLOCK,
  MONITOR,
  SUMMARY,
];

export const TABLES: readonly Declared[] = [
  ...FIRST_TABLES,
  JOURNAL,
  DELIVERIES,
  ACTIONS,
  REPORTS,
  REPORTING,
];

export const CREATE_INDEXES: readonly string[] = [
  "CREATE INDEX changes_by_time ON changes (check_id, at_ms)",
  "CREATE INDEX outbox_dropped ON outbox (next_attempt_at_ms, first_failed_at_ms) WHERE state = 'dropped'",
  "CREATE INDEX silences_by_end ON silences (until_ms)",
  "CREATE INDEX job_runs_by_job ON job_runs (job_id)",
];

/** How a database makes tables, and adds columns to them. */
interface SchemaWords {
  createTable(table: Declared): string;
  addColumn(table: Declared, column: string): string;
}

/**
 * The steps from an empty database to the present tables, counted by its version, but the first one. A released step
 * never changes: a release replaces the first one by its text, and later changes are new steps.
 */
export function laterSteps({ createTable, addColumn }: SchemaWords): readonly Migration[] {
  return [
    [addColumn(CHECKS, "journal"), createTable(JOURNAL)],
    [createTable(DELIVERIES)],
    [addColumn(SILENCES, "by_whom"), createTable(ACTIONS), CREATE_ACTIONS_INDEX],
    DURATION_COLUMNS.map((column) => addColumn(ROLLUPS, column)),
    [createTable(REPORTS), createTable(REPORTING)],
    [addColumn(CHECKS, "duration_history")],
    [addColumn(CHECKS, "metric_hour"), addColumn(ROLLUPS, "metrics")],
    [addColumn(DELIVERIES, "cause")],
    [addColumn(CHECKS, "metric_history")],
  ];
}

/** Those of SQLite. */
export const STEPS: readonly Migration[] = [
  [...FIRST_TABLES.map((table) => createTable(table)), ...CREATE_INDEXES],
  ...laterSteps({ createTable, addColumn }),
];

/** Makes the present tables at once, in a fifth of the time of all steps. The order of their columns is another one. */
export const WHOLE: Migration = [
  ...TABLES.map((table) => createTable(table, true)),
  ...CREATE_INDEXES,
  CREATE_ACTIONS_INDEX,
];

/** The statements of one step to the present tables. */
export type Migration = readonly string[];

export function newerVersion(version: number, versionMax: number): string {
  return `it is of version ${version}, and this monitor knows versions up to ${versionMax}; use the newer monitor, ` +
    "or keep the state elsewhere";
}

/** The error of a state that is only to be read; a version of 0: there is none. */
export function unreadableState(path: string, version: number): StoreError {
  return version === 0
    ? new StoreError(`cannot read state "${path}": there is none yet; run the checks first`, "missing")
    : new StoreError(
      `cannot read state "${path}": it is of the older version ${version}; run the checks once, which updates it`,
      "other",
    );
}
