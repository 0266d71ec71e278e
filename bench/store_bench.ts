/**
 * What keeping the state costs: `deno run -A bench/store_bench.ts`. The state is in the system's folder for
 * temporary files, so the disk under that is what is measured.
 */
import { DatabaseSync } from "node:sqlite";
import { CONDITIONS } from "../src/domain/condition.ts";
import type { CheckUpdate, Store } from "../src/domain/store.ts";
import { openSqliteStore } from "../src/storage/sqlite_store.ts";
import { createStoreFiles } from "../src/system/store_files.ts";
import { measureInTurn, median } from "./measure.ts";
import type { Row } from "./row.ts";

/** Measures single commits, batches, opening, reading and pruning of states of some sizes. */
export async function benchStore(): Promise<Row[]> {
  const folder = await Deno.makeTempDir({ prefix: "monitor-bench-" });
  try {
    return [
      ...await benchSaving(`${folder}/saving.sqlite`),
      ...await benchOpening(`${folder}/small.sqlite`, { checks: 10, hours: 24 }),
      ...await benchOpening(`${folder}/big.sqlite`, { checks: 1000, hours: 250 }),
      ...await benchPruning(`${folder}/pruning.sqlite`, { checks: 1000, hours: 300 }),
    ];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2026, 0, 31, 10);

interface Size {
  readonly checks: number;
  readonly hours: number;
}

async function benchSaving(path: string): Promise<Row[]> {
  const store = await open(path);
  const bare = openBare(`${path}.bare`);
  await store.save(updatesOf(1000, NOW_MS));
  const commits = 200;
  const single = await measureInTurn(7, {
    bare: () => measure(() => times(commits, () => bare.save(1))),
    store: () => measure(() => times(commits, (commit) => store.save(updatesOf(1, NOW_MS + commit)))),
  });
  const [batches, runs] = [5, 1000];
  const batched = await measureInTurn(7, {
    bare: () => measure(() => times(batches, () => bare.save(runs))),
    store: () => measure(() => times(batches, (batch) => store.save(updatesOf(runs, NOW_MS + batch)))),
  });
  await store.close();
  bare.close();
  const [singleMs, bareSingleMs] = [median(single.store) / commits, median(single.bare) / commits];
  const [batchMs, bareBatchMs] = [median(batched.store) / batches, median(batched.bare) / batches];
  return [
    {
      name: "store: single commits",
      value: 1000 / singleMs,
      unit: "commits/s",
      note: "one run each, on disk",
    },
    {
      name: "store: single commit, to one row in bare SQLite",
      value: singleMs / bareSingleMs,
      unit: "×",
      note: `${singleMs.toFixed(3)} ms to ${bareSingleMs.toFixed(3)} ms`,
    },
    {
      name: "store: batched runs",
      value: runs * 1000 / batchMs,
      unit: "runs/s",
      note: `${runs} in a commit, each with record and roll-up`,
    },
    {
      name: "store: batch, to as many rows in bare SQLite",
      value: batchMs / bareBatchMs,
      unit: "×",
      note: `${batchMs.toFixed(1)} ms to ${bareBatchMs.toFixed(1)} ms, which nothing else runs`,
    },
  ];
}

/** The least that keeping some rows durably costs: the same journal, one table, one statement. */
function openBare(path: string): { readonly save: (rows: number) => void; readonly close: () => void } {
  const database = new DatabaseSync(path);
  database.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (id INTEGER PRIMARY KEY, x)",
  );
  const [begin, commit] = [database.prepare("BEGIN IMMEDIATE"), database.prepare("COMMIT")];
  const upsert = database.prepare("INSERT INTO t VALUES (?, ?) ON CONFLICT DO UPDATE SET x = excluded.x");
  let version = 0;
  return {
    save: (rows) => {
      // What is written again unchanged is not written at all.
      const text = String(version++).padStart(500, "x");
      begin.run();
      for (let row = 0; row < rows; row++) upsert.run(row, text);
      commit.run();
    },
    close: () => database.close(),
  };
}

async function benchOpening(path: string, size: Size): Promise<Row[]> {
  await fill(path, size);
  const megabytes = (await Deno.stat(path)).size / 1e6;
  const openings: number[] = [];
  const readings: number[] = [];
  for (let round = 0; round < 21; round++) {
    let store: Store | undefined;
    openings.push(await measure(async () => void (store = await open(path))));
    readings.push(await measure(async () => void await store?.records()));
    await store?.close();
  }
  const note = `${size.checks} checks, ${megabytes.toFixed(1)} MB; median of 21`;
  return [
    { name: `store: open with ${size.checks} checks`, value: median(openings), unit: "ms", note },
    { name: `store: read ${size.checks} records`, value: median(readings), unit: "ms", note },
  ];
}

async function benchPruning(path: string, size: Size): Promise<Row[]> {
  await fill(path, size);
  const store = await open(path);
  const calls: number[] = [];
  for (let finished = false; !finished;) {
    calls.push(
      await measure(async () => void ({ finished } = await store.prune(NOW_MS + size.hours * HOUR_MS))),
    );
  }
  await store.close();
  const note = `${size.checks * size.hours} hourly roll-ups, ${calls.length} calls`;
  return [
    { name: "store: prune, median call", value: median(calls), unit: "ms", note },
    { name: "store: prune, longest call", value: Math.max(...calls), unit: "ms", note },
  ];
}

function open(path: string): Promise<Store> {
  const options = { files: createStoreFiles(), userId: Deno.uid(), nowMs: NOW_MS, access: "own" } as const;
  return openSqliteStore(path, options).then(({ store }) => store);
}

async function fill(path: string, { checks, hours }: Size): Promise<void> {
  const store = await open(path);
  for (let hour = 0; hour < hours; hour++) await store.save(updatesOf(checks, NOW_MS + hour * HOUR_MS));
  await store.close();
}

function updatesOf(checks: number, atMs: number): CheckUpdate[] {
  return [...Array(checks).keys()].map((index): CheckUpdate => {
    const condition = CONDITIONS[index % CONDITIONS.length] ?? "ok";
    const counts = { ok: 0, unknown: 0, warning: 0, critical: 0 };
    return {
      record: {
        name: `check number ${index}`,
        condition: {
          settled: condition,
          settledSinceMs: atMs,
          atLeast: { ...counts, ok: 100 },
          atMost: { ...counts, critical: 100 },
          observed: condition,
          observedAtMs: atMs,
          problemBeganAtMs: null,
          reported: "ok",
          reportedAtMs: null,
          reportedProblemBeganAtMs: null,
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
        nextRunAtMs: atMs + 60_000,
        intervalMs: 60_000,
        missedRuns: 0,
        runs: { ok: 1, unknown: 0, warning: 0, critical: 0 },
        durationTotalMs: 10,
        seenAtMs: atMs,
      },
      rollup: { atMs, condition, durationMs: 12.5, lastedMs: 60_000, lasted: condition },
      change: null,
      rows: [],
    };
  });
}

async function times(count: number, work: (index: number) => void | Promise<void>): Promise<void> {
  for (let index = 0; index < count; index++) await work(index);
}

async function measure(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
