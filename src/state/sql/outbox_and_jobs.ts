/**
 * The outbox, silences, jobs and the run of the monitor, which every database stores alike. Names and keys are encoded
 * as column text.
 */
import { addCounts, type ChannelCount, NOTICE_PREFIX } from "../../domain/outbox.ts";
import type { EndedJobRun, JobRun, OutboxStore, QueuedSummary, Store } from "../../domain/store.ts";
import { columnText, number } from "../codec.ts";
import { addReading, DELIVERIES_MAX, JOB_RUNS_MAX, type RetentionLimits } from "../retention.ts";
import { type Dialect, each, type Statement, type Work } from "./rows.ts";
import type { Row } from "./table_declaration.ts";
import {
  ACTIONS,
  CHANNEL_COUNTS,
  CLOCK,
  DELIVERIES,
  DELIVERY_MARKERS,
  JOB_RUNS,
  JOBS,
  MONITOR,
  OUTBOX,
  SILENCES,
  SUMMARY,
} from "./tables.ts";

export const OUTBOX_ROWS = { table: "outbox", columns: OUTBOX.columns } as const;

/** All markers, in the order in which they were first set. */
export const SELECT_MARKERS = `SELECT ${DELIVERY_MARKERS.columns} FROM delivery_markers ORDER BY id`;

/** The counts of all channels, in the order in which they were first counted. */
const SELECT_COUNTS = `SELECT ${CHANNEL_COUNTS.columns} FROM channel_counts ORDER BY id`;

const RETURNING_ID = " RETURNING id";

export function createOutboxStore(dialect: Dialect): OutboxStore {
  const { parameter, namesIn, listOf, select, upserts, additions, all, transact } = dialect;
  const deleteQueued = `DELETE FROM outbox WHERE key IN (${namesIn(1)})`;
  const deleteMarker = `DELETE FROM delivery_markers
    WHERE check_name = ${parameter(1)} AND channel_key = ${parameter(2)}`;
  const updateSummary = `UPDATE summary SET schedule = ${parameter(1)}, scheduled_at_ms = ${parameter(2)}
    WHERE schedule = ${parameter(3)} AND scheduled_at_ms = ${parameter(4)}${RETURNING_ID}`;
  const selectDeliveries = `SELECT ${DELIVERIES.columns} FROM deliveries
    WHERE at_ms >= ${parameter(1)} AND at_ms <= ${parameter(2)}`;
  // Their indexes have both in this order.
  const selectSilences = `SELECT ${SILENCES.columns} FROM silences
    WHERE until_ms > ${parameter(1)} ORDER BY until_ms, id`;
  const selectActions = `SELECT ${ACTIONS.columns} FROM actions
    WHERE check_name = ${parameter(1)} ORDER BY at_ms, id`;
  const endSilences = `UPDATE silences SET until_ms = ${parameter(1)}
    WHERE until_ms > ${parameter(1)} AND kind <> 'maintenance'`;
  return {
    outbox: () =>
      transact("read", function* () {
        const queued = yield* all(OUTBOX_ROWS);
        const markers = yield [SELECT_MARKERS, []];
        const counts = yield [SELECT_COUNTS, []];
        return {
          notifications: queued.map(OUTBOX.decode).sort((one, other) => one.sequence - other.sequence),
          markers: markers.map(DELIVERY_MARKERS.decode),
          counts: counts.map(CHANNEL_COUNTS.decode),
        };
      }),
    changeOutbox: async ({ changed, removed, markers, cleared, notices = [], counted = [], logged = [] }) => {
      const statements: readonly Statement[] = [
        ...upserts(OUTBOX, lastByKey([...notices, ...changed], idOf)),
        ...removed.length === 0 ? [] : [[deleteQueued, [listOf(removed.map(columnText.encode))]] as const],
        ...cleared.map((marker) => [deleteMarker, keyOfMarker(marker)] as const),
        ...upserts(DELIVERY_MARKERS, lastByKey(markers, (marker) => JSON.stringify(keyOfMarker(marker)))),
        ...upserts(CHANNEL_COUNTS, addedCounts(counted)),
        ...additions(DELIVERIES, logged),
      ];
      await transact("write", () => each(statements));
    },
    deliveries: ({ checks, sinceMs, untilMs, haveCause = false }) => {
      const ofChecks = checks === undefined ? "" : `AND check_name IN (${namesIn(3)})`;
      const sql = `${selectDeliveries} ${ofChecks} ${
        haveCause ? "AND cause IS NOT NULL" : ""
      } ORDER BY at_ms, key`;
      const names = checks === undefined ? [] : [listOf(checks.map(columnText.encode))];
      return select(sql, [sinceMs, untilMs, ...names], DELIVERIES.decode);
    },
    queuedSummary: async () =>
      (await select(`SELECT ${SUMMARY.columns} FROM summary`, [], SUMMARY.decode))[0] ?? null,
    queueSummary: (summary, before, queued) =>
      transact("write", function* () {
        const kept = before === null
          ? yield* each(additions(SUMMARY, [summary], RETURNING_ID))
          : yield [updateSummary, [...valuesOf(summary), ...valuesOf(before)]];
        if (kept.length > 0) yield* each(upserts(OUTBOX, queued));
        return kept.length > 0;
      }),
    silences: (nowMs) => select(selectSilences, [nowMs], SILENCES.decode),
    addSilences: async (silences) => {
      await transact("write", () => each(upserts(SILENCES, lastByKey(silences, idOf))));
    },
    endSilences: (checks, nowMs) =>
      transact("write", function* () {
        if (checks === "all") return (yield [endSilences + RETURNING_ID, [nowMs]]).length;
        const names = checks.filter((check) => check !== null).map(columnText.encode);
        const orAll = checks.includes(null) ? " OR check_name IS NULL" : "";
        const sql = `${endSilences} AND (check_name IN (${namesIn(2)})${orAll})${RETURNING_ID}`;
        return (yield [sql, [nowMs, listOf(names)]]).length;
      }),
    keepAction: async (action, silences) => {
      await transact(
        "write",
        () => each([...upserts(ACTIONS, [action]), ...upserts(SILENCES, lastByKey(silences, idOf))]),
      );
    },
    actions: (check) => select(selectActions, [columnText.encode(check)], ACTIONS.decode),
  };
}

export function keyOfMarker(
  { check, channelKey }: Readonly<Record<"check" | "channelKey", string>>,
): readonly string[] {
  return [columnText.encode(check), columnText.encode(channelKey)];
}

export function lastByKey<T>(values: readonly T[], keyOf: (value: T) => string): readonly T[] {
  return [...new Map(values.map((value) => [keyOf(value), value])).values()];
}

const idOf = ({ id }: { readonly id: string }): string => id;

/** Adds counts of one channel up: a statement can't merge into a row twice. */
export function addedCounts(counted: readonly ChannelCount[]): readonly ChannelCount[] {
  const sums = new Map<string, ChannelCount>();
  for (const count of counted) sums.set(count.channelKey, addCounts(sums.get(count.channelKey), count));
  return [...sums.values()];
}

function valuesOf({ schedule, scheduledMs }: QueuedSummary): readonly [string, number] {
  return [columnText.encode(schedule), scheduledMs];
}

/** `checkIn`: notes that a run of the job with an id has ended now. */
export function createJobStore(
  { parameter, select, upserts, additions, transact }: Dialect,
  checkIn: (jobId: number) => readonly Statement[] = () => [],
): Pick<Store, "job" | "keepJobRun" | "monitorRun" | "keepMonitorRun"> {
  const ofJob = `FROM job_runs WHERE job_id = ${parameter(1)}`;
  // With the run that ended last and those behind it without an end; one row without a run if there is none.
  const selectJob =
    `SELECT since_ms, ${JOB_RUNS.columns} FROM jobs LEFT JOIN job_runs ON job_id = jobs.id AND (
      end_order = (SELECT max(end_order) FROM job_runs WHERE job_id = jobs.id) OR end_order IS NULL
        AND job_runs.id > (SELECT coalesce(max(id), 0) FROM job_runs WHERE job_id = jobs.id AND end_order IS NOT NULL))
    WHERE name = ${parameter(1)} ORDER BY job_runs.id`;
  const selectEndOrder = `SELECT coalesce(max(end_order), 0) + 1 AS id ${ofJob}`;
  const deleteSurplus = `DELETE ${ofJob}
    AND id NOT IN (SELECT id ${ofJob} ORDER BY id DESC LIMIT ${JOB_RUNS_MAX})
    AND id IS DISTINCT FROM (SELECT id ${ofJob} AND end_order IS NOT NULL ORDER BY end_order DESC LIMIT 1)`;
  return {
    job: async (name, nowMs) => {
      const read = () => select(selectJob, [columnText.encode(name)], jobRowIn);
      let rows = await read();
      if ((rows[0]?.sinceMs ?? Infinity) > nowMs) {
        await transact("write", () => each(upserts(JOBS, [{ name, sinceMs: nowMs }])));
        rows = await read();
      }
      const runs = rows.flatMap(({ run }) => run ?? []);
      return {
        sinceMs: rows[0]?.sinceMs ?? nowMs,
        last: runs.find((run): run is EndedJobRun => run.end !== null) ?? null,
        inProgress: runs.filter(({ end }) => end === null),
      };
    },
    keepJobRun: (name, run, nowMs) =>
      transact("write", function* () {
        // The row of the job is locked, so that ends get their order one by one.
        const jobId = idIn(yield* each(upserts(JOBS, [{ name, sinceMs: nowMs }], RETURNING_ID)));
        if (run.end === null) {
          yield* each(additions(JOB_RUNS, [{ ...run, jobId, endOrder: null }]));
        } else {
          const endOrder = idIn(yield [selectEndOrder, [jobId]]);
          yield* each([...upserts(JOB_RUNS, [{ ...run, jobId, endOrder }]), ...checkIn(jobId)]);
        }
        yield [deleteSurplus, [jobId]];
      }),
    monitorRun: async () =>
      (await select(`SELECT ${MONITOR.columns} FROM monitor`, [], MONITOR.decode))[0]?.run ?? null,
    keepMonitorRun: async (run) => {
      await transact("write", () => each(upserts(MONITOR, [{ run }])));
    },
  };
}

function jobRowIn(row: Row): { readonly sinceMs: number; readonly run: JobRun | null } {
  const sinceMs = number.decode(row["since_ms"], "since_ms");
  if (row["key"] === null) return { sinceMs, run: null };
  const { id, startedAtMs, end } = JOB_RUNS.decode(row);
  return { sinceMs, run: { id, startedAtMs, end } };
}

function idIn([row]: readonly Row[]): number {
  return Number(row?.["id"]);
}

// What is deleted when it is old.

/** Adds a reading of the clock, and returns the time that counts for deletions. */
export function* readClock({ upserts }: Pick<Dialect, "upserts">, nowMs: number): Work<number> {
  const [row] = yield [`SELECT ${CLOCK.columns} FROM clock`, []];
  const before = row === undefined ? null : CLOCK.decode(row);
  const readings = addReading(before, nowMs);
  if (readings !== before) yield* each(upserts(CLOCK, [readings]));
  return readings.earlierMs;
}

/** The tables of the outbox, the condition of their old rows, which has one parameter, and that. */
export function oldRows(
  { parameter }: Pick<Dialect, "parameter">,
  { droppedMs, silenceEndMs, journalMs, countedMs }: RetentionLimits,
): readonly (readonly [table: string, condition: string, limitMs: number])[] {
  const limit = parameter(1);
  return [
    [
      "outbox",
      `state = 'dropped' AND next_attempt_at_ms < ${limit}
        AND coalesce(first_failed_at_ms, next_attempt_at_ms) < ${limit}`,
      droppedMs,
    ],
    ["silences", `until_ms < ${limit}`, silenceEndMs],
    [
      "deliveries",
      `at_ms < ${limit} OR id <= (SELECT max(id) FROM deliveries) - ${DELIVERIES_MAX}`,
      journalMs,
    ],
    ["actions", `at_ms < ${limit}`, journalMs],
    ["channel_counts", `counted_at_ms < ${limit}`, countedMs],
  ];
}

/** Deletes the markers of checks that are deleted, but not those of notices about channels, and old jobs without a check. */
export function deleteStrays(
  { parameter }: Pick<Dialect, "parameter">,
  { seenMs }: RetentionLimits,
): readonly Statement[] {
  const oldJobs = `SELECT id FROM jobs WHERE name NOT IN (SELECT name FROM checks) AND since_ms < ${
    parameter(1)
  }
    AND NOT EXISTS (SELECT 1 FROM job_runs WHERE job_id = jobs.id AND started_at_ms >= ${parameter(1)})`;
  return [
    [DELETE_STRAY_MARKERS, []],
    [`DELETE FROM job_runs WHERE job_id IN (${oldJobs})`, [seenMs]],
    [`DELETE FROM jobs WHERE id IN (${oldJobs})`, [seenMs]],
  ];
}

const DELETE_STRAY_MARKERS = `DELETE FROM delivery_markers
  WHERE check_name NOT IN (SELECT name FROM checks)
    AND check_name NOT IN (SELECT '${NOTICE_PREFIX}' || channel_name FROM channel_counts)`;
