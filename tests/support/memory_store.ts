import type { ConditionCounts } from "../../src/domain/condition_state.ts";
import type { MonitorRun } from "../../src/domain/monitor_run.ts";
import {
  type CheckRecord,
  type CheckUpdate,
  type ConditionChange,
  type QueuedSummary,
  type Rollup,
  type RollupSum,
  type Store,
  StoreError,
} from "../../src/domain/store.ts";
import { copyChange, copyMonitorRun, copyRecord, copyRollup } from "./copies.ts";
import { createMemoryJobs } from "./memory_jobs.ts";
import { createMemoryOutbox } from "./memory_outbox.ts";
import { packRun, RECENT_BYTES_MAX, unpackRuns } from "../../src/state/recent_runs.ts";
import { DAY_MS, HOUR_MS } from "../../src/shared/time_units.ts";
import { rollupsOf } from "../../src/state/sql/rows.ts";
import {
  addReading,
  CHANGES_MAX,
  type ClockReadings,
  limitsAt,
  type RetentionLimits,
  startOf,
} from "../../src/state/retention.ts";

/** The model that stores are compared with: the same behavior in plain maps and lists. */
export function createMemoryStore(): Store {
  const kept = new Map<string, KeptCheck>();
  const outbox = createMemoryOutbox();
  const jobs = createMemoryJobs();
  let clock: ClockReadings | null = null;
  let monitorRun: MonitorRun | null = null;
  let queuedSummary: QueuedSummary | null = null;
  let isClosed = false;

  const answer = <T>(work: () => T): Promise<T> =>
    new Promise((resolve) => {
      if (isClosed) throw new StoreError("cannot use the state: it was closed", "other");
      resolve(work());
    });

  return {
    records: () => answer(() => [...kept.values()].map(({ record }) => copyRecord(record))),
    save: (updates) =>
      answer(() => {
        updates.forEach((update) => {
          keep(kept, update);
          update.queued.forEach(outbox.keepRow);
        });
        return [];
      }),
    changes: (name, { sinceMs, limit, from = { atMs: Infinity, skip: 0 } }) =>
      answer(() => {
        const changes = newestFirst(kept.get(name)?.changes ?? []);
        const chosen = changes.filter(({ atMs }) => atMs >= sinceMs && atMs <= from.atMs);
        return chosen.slice(from.skip, from.skip + Math.max(0, limit)).map(copyChange);
      }),
    latestChanges: (names, limit) =>
      answer(() => {
        const changes = [...new Set(names)].flatMap((name) => kept.get(name)?.changes ?? []);
        return newestFirst(changes).slice(0, Math.max(0, limit)).map((change) => ({ ...change, trace: "" }));
      }),
    rollups: (name, sinceMs) =>
      answer(() => {
        const rollups = [...kept.get(name)?.rollups.values() ?? []];
        return rollups.filter((rollup) => endOf(rollup) > sinceMs).sort(inTime).map(copyRollup);
      }),
    rollupSums: (names, { sinceMs, untilMs, each }) =>
      answer(() =>
        [...new Set(names)].flatMap((name) => {
          const rollups = [...kept.get(name)?.rollups.values() ?? []].filter((rollup) =>
            endOf(rollup) > sinceMs && rollup.startMs <= untilMs &&
            (each !== "hour" || rollup.spanMs === HOUR_MS)
          );
          const firstMs = Math.min(...rollups.map((rollup) => rollup.startMs));
          const starts = {
            hour: ({ startMs }: Rollup) => startMs,
            day: ({ startMs }: Rollup) => startOf(startMs, DAY_MS),
            check: () => firstMs,
          };
          return sumUp(rollups, starts[each]);
        })
      ),
    recentRuns: (names) =>
      answer(() =>
        [...new Set(names)].flatMap((name) => {
          const runs = unpackRuns(kept.get(name)?.recent ?? new Uint8Array(0));
          return runs.length === 0 ? [] : [{ name, runs }];
        })
      ),
    outbox: () => answer(outbox.read),
    changeOutbox: (change) => answer(() => outbox.change(change)),
    silences: (nowMs) => answer(() => outbox.silences(nowMs)),
    addSilences: (silences) => answer(() => outbox.addSilences(silences)),
    endSilences: (checks, nowMs) => answer(() => outbox.endSilences(checks, nowMs)),
    job: (name, nowMs) => answer(() => jobs.read(name, nowMs)),
    keepJobRun: (name, run, nowMs) => answer(() => jobs.keep(name, run, nowMs)),
    monitorRun: () => answer(() => monitorRun === null ? null : copyMonitorRun(monitorRun)),
    keepMonitorRun: (run) => answer(() => void (monitorRun = copyMonitorRun(run))),
    queuedSummary: () => answer(() => queuedSummary),
    queueSummary: (summary, before, queued) =>
      answer(() => {
        if (JSON.stringify(before) !== JSON.stringify(queuedSummary)) return false;
        queuedSummary = summary;
        queued.forEach(outbox.keepRow);
        return true;
      }),
    prune: (nowMs) =>
      answer(() => {
        clock = addReading(clock, nowMs);
        const limits = limitsAt(clock.earlierMs);
        const forgotten = prune(kept, limits);
        outbox.prune(limits, (check) => kept.has(check));
        jobs.prune(limits, (check) => kept.has(check));
        return { finished: true, forgotten };
      }),
    close: () => {
      isClosed = true;
      return Promise.resolve();
    },
  };
}

interface KeptCheck {
  readonly record: CheckRecord;
  /** In the order in which they came. */
  readonly changes: readonly ConditionChange[];
  readonly rollups: Rollups;
  /** Packed. */
  readonly recent: Uint8Array;
}

/** By start and span. */
type Rollups = Map<string, Rollup>;

function keep(kept: Map<string, KeptCheck>, { record, rollup, change }: CheckUpdate): void {
  const { name } = record;
  const before = kept.get(name);
  const changes = before?.changes ?? [];
  const rollups: Rollups = before?.rollups ?? new Map();
  for (const one of rollup === null ? [] : rollupsOf(rollup)) addUp(rollups, { name, ...one });
  kept.set(name, {
    record: copyRecord(record),
    changes: change === null ? changes : [...changes, { ...copyChange(change), name }],
    rollups,
    recent: addRun(before?.recent ?? new Uint8Array(0), packRun(rollup)),
  });
}

/** Returns the names of the deleted checks. */
function prune(kept: Map<string, KeptCheck>, limits: RetentionLimits): readonly string[] {
  const forgotten: string[] = [];
  for (const [name, { record, changes, rollups, recent }] of kept) {
    if (record.seenAtMs < limits.seenMs) {
      kept.delete(name);
      forgotten.push(name);
      continue;
    }
    const surplus = new Set(newestFirst(changes).slice(CHANGES_MAX));
    kept.set(name, {
      record,
      recent,
      changes: changes.filter((change) => change.atMs >= limits.changeMs && !surplus.has(change)),
      rollups: pruneRollups(rollups, limits),
    });
  }
  return forgotten;
}

/** Sums of the roll-ups that begin together, the oldest first. */
function sumUp(
  rollups: readonly Rollup[],
  startOfSum: (rollup: Rollup) => number,
): readonly RollupSum[] {
  const sums: Rollups = new Map();
  for (const rollup of rollups) addUp(sums, { ...rollup, startMs: startOfSum(rollup), spanMs: 0 });
  return [...sums.values()].sort(inTime).map((
    { name, startMs, observed, lastedMs, durationTotalMs, failedStreakMax },
  ) => ({
    name,
    startMs,
    runs: observed.ok + observed.unknown + observed.warning + observed.critical,
    failedRuns: observed.unknown + observed.warning + observed.critical,
    failedStreakMax,
    lastedMs: { ...lastedMs },
    durationTotalMs,
  }));
}

function pruneRollups(rollups: Rollups, limits: RetentionLimits): Rollups {
  const left: Rollups = new Map();
  for (const rollup of rollups.values()) {
    if (endOf(rollup) < limits.rollupEndMs) continue;
    const isMerged = rollup.spanMs === HOUR_MS && rollup.startMs < limits.dailyMs;
    addUp(left, isMerged ? { ...rollup, startMs: startOf(rollup.startMs, DAY_MS), spanMs: DAY_MS } : rollup);
  }
  return left;
}

function addUp(rollups: Rollups, added: Rollup): void {
  const key = `${added.startMs} ${added.spanMs}`;
  const before = rollups.get(key);
  if (before === undefined) rollups.set(key, added);
  else {
    rollups.set(key, {
      ...before,
      observed: addCounts(before.observed, added.observed),
      lastedMs: addCounts(before.lastedMs, added.lastedMs),
      durationTotalMs: before.durationTotalMs + added.durationTotalMs,
      durationMaxMs: Math.max(before.durationMaxMs, added.durationMaxMs),
      failedStreakMax: Math.max(before.failedStreakMax, added.failedStreakMax),
    });
  }
}

function addCounts(one: ConditionCounts, other: ConditionCounts): ConditionCounts {
  return {
    ok: one.ok + other.ok,
    unknown: one.unknown + other.unknown,
    warning: one.warning + other.warning,
    critical: one.critical + other.critical,
  };
}

/** Of two changes at one time the later kept is the newer. */
function newestFirst(changes: readonly ConditionChange[]): readonly ConditionChange[] {
  return changes.toReversed().sort((one, other) => other.atMs - one.atMs);
}

/** A late entry of a merged day creates an hour inside it, which is returned after the day. */
function inTime(one: Rollup, other: Rollup): number {
  return one.startMs - other.startMs || other.spanMs - one.spanMs;
}

function endOf(rollup: Rollup): number {
  return rollup.startMs + rollup.spanMs;
}

/** Puts a packed run before others, and drops those beyond the maximum. */
function addRun(runs: Uint8Array, run: Uint8Array): Uint8Array {
  const joined = new Uint8Array(runs.length + run.length);
  joined.set(run);
  joined.set(runs, run.length);
  return joined.slice(0, RECENT_BYTES_MAX);
}
