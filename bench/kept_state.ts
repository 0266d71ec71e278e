/** States as a monitor that has run for a while stores them, so that not its first minute is measured. */
import { createRealClock } from "../testing/real_clock.ts";
import type { Condition } from "../src/domain/condition.ts";
import type { CheckRecord, CheckUpdate, Store } from "../src/domain/store.ts";
import { nextAtOffset, splayOf } from "../src/scheduler/next_run.ts";
import { DAY_MS } from "../src/shared/time_units.ts";
import { addRun } from "../src/state/journal.ts";
import { openSqliteStore } from "../src/state/sqlite/sqlite_store.ts";
import { createStoreFiles } from "../src/system/files.ts";

/** The records of checks in a state. */
export interface KeptChecks {
  /** The checks' names. */
  readonly names: readonly string[];
  /** The interval of all of them. */
  readonly intervalMs: number;
}

const BATCH = 5_000;

/**
 * Makes a state in which each check has run once, was well, and is planned for its own time within the interval. Its
 * rows lie in the order in which a monitor that began with these checks has run them first.
 */
export async function keepChecks(path: string, { names, intervalMs }: KeptChecks): Promise<void> {
  const nowMs = Date.now();
  const store = await openStore(path, nowMs);
  const inOrder = names.toSorted((one, other) => splayOf(one) - splayOf(other));
  for (let from = 0; from < inOrder.length; from += BATCH) {
    await store.save(
      inOrder.slice(from, from + BATCH).map((name) =>
        updateOf(name, {
          atMs: nowMs,
          intervalMs,
          nextRunAtMs: nextAtOffset(nowMs, intervalMs, splayOf(name)),
        })
      ),
    );
  }
  await store.close();
}

/** Reads all records of a state alongside its owner. */
export async function readRecords(path: string): Promise<readonly CheckRecord[]> {
  const { store } = await openSqliteStore(path, { ...options(Date.now()), access: "read" });
  const records = await store.records();
  await store.close();
  return records;
}

/** Opens a state to write it; one that is not there is made. */
async function openStore(path: string, nowMs: number = Date.now()): Promise<Store> {
  return (await openSqliteStore(path, { ...options(nowMs), access: "own" })).store;
}

function options(
  nowMs: number,
): { readonly files: ReturnType<typeof createStoreFiles>; readonly userId: number | null; nowMs: number } {
  return { files: createStoreFiles(createRealClock()), userId: Deno.uid(), nowMs };
}

/** The run that {@linkcode updateOf} makes. */
interface KeptRun {
  /** When it was. */
  readonly atMs: number;
  /** When the next one is planned. */
  readonly nextRunAtMs: number;
  /** The interval of the check. */
  readonly intervalMs: number;
}

/** Returns the changes of one run of a check in a state. */
export function updateOf(
  name: string,
  { atMs, nextRunAtMs, intervalMs }: KeptRun,
): CheckUpdate {
  const condition: Condition = "ok";
  const counts = { ok: 0, unknown: 0, warning: 0, critical: 0 };
  return {
    record: {
      name,
      failing: null,
      condition: {
        confirmed: condition,
        confirmedSinceMs: atMs,
        leftAtMs: { pending: atMs, ok: null, unknown: null, warning: null, critical: null },
        atLeast: { ...counts, ok: 100 },
        atMost: { ...counts, critical: 100 },
        observed: condition,
        observedAtMs: atMs,
        problemBeganAtMs: null,
        notified: "ok",
        notifiedAtMs: null,
        notifiedSinceMs: null,
        notifiedProblemBeganAtMs: null,
        recent: "",
        sinceLowered: 0,
        flappingSinceMs: null,
        reminders: 0,
      },
      last: {
        condition,
        output: "status is 200",
        detail: "",
        performanceData: "",
        metrics: { status: 200 },
        startedAtMs: atMs,
        durationMs: 12.5,
        lateMs: 1,
      },
      nextRunAtMs,
      overdueAtMs: nextRunAtMs + 2 * intervalMs,
      missedRuns: 0,
      runs: { ...counts, ok: 1 },
      durationTotalMs: 10,
      seenAtMs: atMs,
      journal: journalOf(atMs, intervalMs),
      durationHistory: null,
      metricHour: null,
      metricHistory: null,
    },
    rollup: { atMs, condition, durationMs: 12.5, lastedMs: intervalMs, lasted: condition, failedStreak: 0 },
    change: null,
    queued: [],
  };
}

/** The journal of a check that has been ok for a week: a row for each day. */
function journalOf(atMs: number, intervalMs: number): Uint8Array | null {
  let journal: Uint8Array | null = null;
  for (const daysAgo of [6, 5, 4, 3, 2, 1, 0]) {
    for (const endedAtMs of [atMs - daysAgo * DAY_MS - intervalMs, atMs - daysAgo * DAY_MS]) {
      const run = {
        endedAtMs,
        condition: "ok",
        awaits: null,
        isLate: false,
        isAfterGap: false,
        isInterrupted: false,
        isDecisive: false,
      } as const;
      journal = addRun(journal, { ...run, output: "" }).journal;
    }
  }
  return journal;
}
