/**
 * Random histories with gaps, clock steps, kills and changed intervals, in both databases. The truth is worked out from
 * the times and results of the runs alone, by the documented rules: the time from one run to the next counts if the
 * second one came before the check was overdue; after a pause, and since the last run, until the planned run; and never
 * longer than until the service stopped or was last seen. A run that waits is none, and ends the time before it. `monitor history`, the page and the summary have to know it.
 */
import assert from "node:assert/strict";
import { type ConditionCounts, CONDITIONS } from "../../src/domain/condition.ts";
import type { CheckRecord, CheckUpdate, Store } from "../../src/domain/store.ts";
import { readHistory } from "../../src/outputs/json/history_json.ts";
import { isAfterGap } from "../../src/engine/check_status.ts";
import { withOverdue } from "../../src/scheduler/next_run.ts";
import { DAY_MS, HOUR_MS } from "../../src/shared/time_units.ts";
import { openPostgresStore } from "../../src/state/postgres/postgres_store.ts";
import { asObserved, lastedIn, settleRecord } from "../../src/state/availability.ts";
import { decide } from "../../src/engine/decide.ts";
import { WITHOUT_CHANNELS } from "../../src/engine/engine.ts";
import { RecordCache } from "../../src/state/record_cache.ts";
import { openInMemoryStore } from "../../src/state/sqlite/sqlite_store.ts";
import { createRandom } from "../../testing/random.ts";
import { campaign, testSeed } from "../../testing/seed.ts";
import { testCheck } from "../support/checks.ts";
import { sharedPostgres, storeOptions, testPostgres } from "../support/postgres.ts";
import { NOW_MS } from "./records.ts";

const NOW = NOW_MS + 23 * 60_000 + 456;
const SECOND = 1000;
const INTERVALS = [10 * SECOND, 60 * SECOND, 600 * SECOND, HOUR_MS, DAY_MS];
/** So many are saved at a time. */
const BATCH = 100;

const postgres = sharedPostgres();

Deno.test("readHistory() observes the truth in SQLite", async () => {
  const store = await openInMemoryStore();
  await assertTruth(store, "sqlite", campaign(800, 40));
  await store.close();
});

testPostgres("readHistory() observes the truth in PostgreSQL", async () => {
  const store = await openPostgresStore(postgres().place(), storeOptions());
  // Each asks the server a hundred times.
  await assertTruth(store, "postgres", campaign(150, 40));
  await store.close();
});

async function assertTruth(store: Store, name: string, count: number): Promise<void> {
  const histories = Array.from({ length: count }, (_, index) => createHistory(`${name} ${index}`));
  for (let from = 0; from < histories.length; from += BATCH) {
    await store.save(histories.slice(from, from + BATCH).flatMap(({ updates }) => updates));
  }
  while (!(await store.prune(NOW)).finished);
  let observed = 0;
  for (const { name, updates, ranUntilMs, truth } of histories) {
    const record = asObserved({ definition: "" }, updates.at(-1)?.record ?? assert.fail(), ranUntilMs);
    const { spans } = await readHistory(store, record, NOW);
    for (const { key, ms } of spans) {
      const expected = truth(ms);
      for (const each of ["check", ms === DAY_MS ? "hour" : "day"] as const) {
        const sums = await store.rollupSums([name], { sinceMs: NOW - ms, untilMs: NOW, each });
        const lastedMs = { ok: 0, unknown: 0, warning: 0, critical: 0 };
        for (const sum of sums) for (const one of CONDITIONS) lastedMs[one] += sum.lastedMs[one];
        const runs = sums.reduce((count, sum) => count + sum.runs, 0);
        assert.deepEqual(
          [runs, lastedIn({ runs, lastedMs }, record, NOW)],
          [expected.runs, expected.lastedMs],
          `${name}: sums of each ${each}, ${key}`,
        );
      }
    }
    for (const { key, ms, runs, lastedMs, observedMs, shares } of spans) {
      const expected = truth(ms);
      assert.deepEqual([runs, lastedMs], [expected.runs, expected.lastedMs], `${name}: ${key}`);
      const total = CONDITIONS.reduce((sum, condition) => sum + expected.lastedMs[condition], 0);
      assert.equal(observedMs, total, `${name}: ${key}`);
      if (total >= SECOND) assert.equal(shares?.ok, expected.lastedMs.ok / total, `${name}: ${key}`);
      else assert.equal(shares, null, `${name}: ${key}`);
      if (total > 0) observed++;
    }
  }
  assert.ok(observed > histories.length, "most spans have data");
}

/** A run as the truth knows it: the time of its end, the interval in force, and what is confirmed after it. */
interface Run {
  readonly endedAtMs: number;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Whether it waits for other checks, so that it does not count as a run. */
  readonly isWaiting: boolean;
  /** Whether nothing ran before it, if it comes after a gap. */
  readonly isInterrupted: boolean;
  /** When the service before it was stopped, killed or last seen; `null`: it is the same one. */
  readonly ranUntilMs: number | null;
  /** That the next result is recorded after. */
  readonly record: CheckRecord;
  /** How many there are up to this one. */
  readonly updates: number;
}

interface History {
  readonly name: string;
  readonly updates: readonly CheckUpdate[];
  /** When the last service stopped; `null`: it runs. */
  readonly ranUntilMs: number | null;
  truth(spanMs: number): { readonly runs: number; readonly lastedMs: ConditionCounts };
}

function createHistory(name: string): History {
  const { next } = createRandom(testSeed(), name);
  const below = (end: number): number => Math.floor(next() * end);
  const pick = <T>(values: readonly T[]): T => values[below(values.length)] ?? assert.fail();
  const steps = createSteps(below, pick);
  const shiftMs = NOW - below(pick([HOUR_MS, DAY_MS, 20 * DAY_MS])) - (steps.at(-1)?.atMs ?? 0);
  const settings = { name, threshold: 1 + below(3), recoveryThreshold: 1 + below(2) };
  const updates: CheckUpdate[] = [];
  const runs: Run[] = [];
  let record = new RecordCache([]).get(name, 0);
  /** A stop at some time since the last run, or before it if single calls followed. */
  const stopBefore = (nowMs: number, last: Run | undefined): number | null => {
    if (last === undefined || below(3) > 0) return null;
    const lastedMs = Math.max(0, nowMs - last.endedAtMs);
    return last.endedAtMs + pick([-1, 0, Math.min(3 * SECOND, lastedMs), below(Math.max(1, lastedMs))]);
  };
  for (const { atMs, intervalMs, lost } of steps) {
    const nowMs = atMs + shiftMs;
    // A kill loses what was not written yet.
    for (let count = 0; count < lost && runs.length > 1; count++) {
      runs.pop();
      const last = runs.at(-1) ?? assert.fail();
      record = last.record;
      updates.length = last.updates;
    }
    const check = testCheck("ok", {
      ...settings,
      regularIntervalMs: intervalMs,
      attentiveIntervalMs: intervalMs,
    });
    const condition = below(4) > 0 ? record.last?.condition ?? pick(CONDITIONS) : pick(CONDITIONS);
    const isWaiting = below(8) === 0;
    const isInterrupted = below(2) === 0;
    const ranUntilMs = stopBefore(nowMs, runs.at(-1));
    const result = {
      check,
      condition,
      output: "",
      detail: "",
      metrics: {},
      performanceData: "",
      startedAtMs: nowMs,
      durationMs: 1,
      ...isWaiting && { awaits: "checks" as const },
    };
    const settled = ranUntilMs === null ? null : settleRecord(record, ranUntilMs);
    if (settled !== null) {
      updates.push(settled);
      record = settled.record;
    }
    const situation = { ...WITHOUT_CHANNELS, nowMs, newId: () => "id", hostName: "host" };
    const { update } = decide(record, check, situation, {
      result,
      isAfterGap: isAfterGap(check, record, nowMs),
      isInterrupted,
      plan: (state) => withOverdue(check, state, { atMs: nowMs + intervalMs, missed: 0 }),
    });
    record = update.record;
    updates.push(update);
    const { timeoutMs } = check;
    const times = { endedAtMs: nowMs, intervalMs, timeoutMs, ranUntilMs };
    runs.push({ ...times, isWaiting, isInterrupted, record, updates: updates.length });
  }
  const ranUntilMs = stopBefore(NOW, runs.at(-1));
  return { name, updates, ranUntilMs, truth: (spanMs) => truthOf(runs, { spanMs, ranUntilMs }) };
}

interface Step {
  readonly atMs: number;
  readonly intervalMs: number;
  /** How many runs before it a kill has lost. */
  readonly lost: number;
}

function createSteps(below: (end: number) => number, pick: <T>(values: readonly T[]) => T): readonly Step[] {
  let atMs = 0;
  let intervalMs = pick(INTERVALS);
  return Array.from({ length: 2 + below(40) }, () => {
    const event = below(20);
    if (event === 0) intervalMs = pick(INTERVALS);
    atMs += intervalMs + below(intervalMs / 10);
    // Late, just not overdue, just overdue, or off for long.
    if (event === 1) atMs += pick([intervalMs, 2 * intervalMs, 2 * intervalMs + 1, below(5 * DAY_MS)]);
    if (event === 2 && intervalMs <= HOUR_MS) atMs += below(6 * HOUR_MS) - 3 * HOUR_MS;
    return { atMs, intervalMs, lost: event === 3 ? below(3) : 0 };
  });
}

/** As `docs/reference/state.md` says: overdue by two intervals, or by one and the timeout if that is longer. */
function isOverdue({ endedAtMs, intervalMs, timeoutMs }: Run, atMs: number): boolean {
  const lateMs = atMs - endedAtMs - intervalMs;
  return lateMs > 2 * intervalMs && lateMs > intervalMs + timeoutMs;
}

function truthOf(
  runs: readonly Run[],
  { spanMs, ranUntilMs }: { readonly spanMs: number; readonly ranUntilMs: number | null },
): ReturnType<History["truth"]> {
  const beginMs = beginOf(NOW - spanMs);
  const endMs = (Math.floor(NOW / HOUR_MS) + 1) * HOUR_MS;
  const lastedMs = { ok: 0, unknown: 0, warning: 0, critical: 0 };
  const isIn = ({ endedAtMs, isWaiting }: Run): boolean =>
    !isWaiting && endedAtMs >= beginMs && endedAtMs < endMs;
  const ran = runs.filter(isIn).length;
  if (ran === 0) return { runs: 0, lastedMs };
  for (const [index, run] of runs.entries()) {
    const { endedAtMs } = run;
    const next = runs[index + 1];
    const nextMs = next?.endedAtMs ?? NOW;
    const lasted = run.record.condition.confirmed;
    const stopMs = next === undefined ? ranUntilMs : next.ranUntilMs;
    const hasStopped = stopMs !== null && stopMs >= endedAtMs;
    // What was observed until a stop is counted then, whenever the next run comes.
    const isLost = nextMs < endedAtMs || isOverdue(run, nextMs);
    if (lasted === null || isLost && !(hasStopped && next !== undefined)) continue;
    const plannedMs = next?.isInterrupted === false && !hasStopped ? nextMs : endedAtMs + run.intervalMs;
    const untilMs = Math.min(nextMs, plannedMs, hasStopped ? stopMs : Infinity);
    lastedMs[lasted] += Math.max(0, Math.min(untilMs, endMs) - Math.max(endedAtMs, beginMs));
  }
  return { runs: ran, lastedMs };
}

/** A span begins with an hour, or with a day in UTC if hours became days there. */
function beginOf(timeMs: number): number {
  const isDaily = timeMs < Math.floor((NOW - 8 * DAY_MS) / DAY_MS) * DAY_MS;
  const unitMs = isDaily ? DAY_MS : HOUR_MS;
  return Math.floor(timeMs / unitMs) * unitMs;
}
