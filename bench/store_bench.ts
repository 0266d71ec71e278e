/**
 * What keeping the state costs. The state is in the system's folder for temporary files, so the disk under that is
 * what is measured.
 */
import { DatabaseSync } from "node:sqlite";
import { CONDITIONS } from "../src/domain/condition.ts";
import type { CheckUpdate, Store } from "../src/domain/store.ts";
import { openStore, updateOf } from "./kept_state.ts";
import { measureInTurn, median } from "./measure.ts";
import { measureOwn, type OwnCost, usedBytes } from "./own_cost.ts";
import type { Row } from "./row.ts";
import type { Workplace } from "./workplace.ts";

/** Measures single commits, batches, opening, reading and pruning of states of some sizes. */
export async function benchStore(workplace: Workplace): Promise<Row[]> {
  const { folder } = workplace;
  return [
    ...await benchSaving(`${folder}/saving.sqlite`, workplace),
    ...await benchOpening(`${folder}/small.sqlite`, workplace, { checks: 10, hours: 24 }),
    ...await benchOpening(`${folder}/big.sqlite`, workplace, { checks: 1000, hours: 250 }),
    ...await benchPruning(`${folder}/pruning.sqlite`, { checks: 1000, hours: 300 }),
  ];
}

const ROUNDS = 7;

const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2026, 0, 31, 10);

interface Size {
  readonly checks: number;
  readonly hours: number;
}

async function benchSaving(path: string, { effort }: Workplace): Promise<Row[]> {
  const store = await open(path);
  const bare = openBare(`${path}.bare`);
  await store.save(updatesOf(1000, NOW_MS));
  const commits = 200;
  const single = await measureInTurn(effort.rounds(ROUNDS), {
    bare: () => measureOwn(() => times(commits, () => bare.save(1))),
    store: () => measureOwn(() => times(commits, (commit) => store.save(updatesOf(1, NOW_MS + commit)))),
  });
  const [batches, runs] = [5, 1000];
  const batched = await measureInTurn(effort.rounds(ROUNDS), {
    bare: () => measureOwn(() => times(batches, () => bare.save(runs))),
    store: () => measureOwn(() => times(batches, (batch) => store.save(updatesOf(runs, NOW_MS + batch)))),
  });
  await store.close();
  bare.close();
  const each = (samples: readonly OwnCost[], member: keyof OwnCost, count: number): number =>
    median(samples.map((sample) => sample[member])) / count;
  const ratio = (name: string, samples: typeof single, member: keyof OwnCost, count: number): Row => {
    const [storeMs, bareMs] = [each(samples.store, member, count), each(samples.bare, member, count)];
    return {
      name: `${name}, ${member === "wallMs" ? "wall time" : "processor time"}`,
      value: storeMs / bareMs,
      unit: "×",
      note: `${storeMs.toFixed(3)} ms to ${bareMs.toFixed(3)} ms`,
    };
  };
  return [
    {
      name: "store: single commits",
      value: 1000 / each(single.store, "wallMs", commits),
      unit: "commits/s",
      note: "one run each, on disk",
    },
    ratio("store: single commit, to one row in bare SQLite", single, "wallMs", commits),
    ratio("store: single commit, to one row in bare SQLite", single, "cpuMs", commits),
    {
      name: "store: batched runs",
      value: runs * 1000 / each(batched.store, "wallMs", batches),
      unit: "runs/s",
      note: `${runs} in a commit, each with record and roll-up`,
    },
    ratio("store: batch, to as many rows in bare SQLite", batched, "wallMs", batches),
    ratio("store: batch, to as many rows in bare SQLite", batched, "cpuMs", batches),
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

async function benchOpening(path: string, { effort }: Workplace, size: Size): Promise<Row[]> {
  await fill(path, size);
  const megabytes = (await Deno.stat(path)).size / 1e6;
  const openings: OwnCost[] = [];
  const readings: OwnCost[] = [];
  const rounds = effort.rounds(21);
  for (let round = 0; round < rounds; round++) {
    let store: Store | undefined;
    openings.push(await measureOwn(async () => void (store = await open(path))));
    readings.push(await measureOwn(async () => void await store?.records()));
    await store?.close();
  }
  const row = (name: string, costs: readonly OwnCost[]): Row => ({
    name: `store: ${name}`,
    value: median(costs.map(({ wallMs }) => wallMs)),
    unit: "ms",
    note: `${
      median(costs.map(({ cpuMs }) => cpuMs)).toFixed(1)
    } ms of processor time; ${size.checks} checks, ${megabytes.toFixed(1)} MB; median of ${rounds}`,
  });
  return [
    row(`open with ${size.checks} checks`, openings),
    row(`read ${size.checks} records`, readings),
    ...(size.checks < 1000 ? [] : [await measureRecords(path, size)]),
  ];
}

/** What the records of a state take of memory, once they are read. */
async function measureRecords(path: string, { checks }: Size): Promise<Row> {
  const store = await open(path);
  // What the first reading prepares is not theirs.
  await store.records();
  const before = await usedBytes();
  const records = await store.records();
  const after = await usedBytes();
  await store.close();
  const name = `store: memory for one of ${checks} records`;
  if (before === null || after === null) {
    return { name, value: null, unit: "bytes", note: "needs --v8-flags=--expose-gc" };
  }
  return { name, value: (after - before) / records.length, unit: "bytes" };
}

async function benchPruning(path: string, size: Size): Promise<Row[]> {
  await fill(path, size);
  const store = await open(path);
  const calls: number[] = [];
  for (let finished = false; !finished;) {
    const { wallMs } = await measureOwn(async () =>
      void ({ finished } = await store.prune(NOW_MS + size.hours * HOUR_MS))
    );
    calls.push(wallMs);
  }
  await store.close();
  const note = `${size.checks * size.hours} hourly roll-ups, ${calls.length} calls`;
  return [
    { name: "store: prune, median call", value: median(calls), unit: "ms", note },
    { name: "store: prune, longest call", value: Math.max(...calls), unit: "ms", note },
  ];
}

function open(path: string): Promise<Store> {
  return openStore(path, NOW_MS);
}

async function fill(path: string, { checks, hours }: Size): Promise<void> {
  const store = await open(path);
  for (let hour = 0; hour < hours; hour++) await store.save(updatesOf(checks, NOW_MS + hour * HOUR_MS));
  await store.close();
}

function updatesOf(checks: number, atMs: number): CheckUpdate[] {
  return [...Array(checks).keys()].map((index) =>
    updateOf(`check number ${index}`, {
      atMs,
      nextRunAtMs: atMs + 60_000,
      intervalMs: 60_000,
      condition: CONDITIONS[index % CONDITIONS.length] ?? "ok",
    })
  );
}

async function times(count: number, work: (index: number) => void | Promise<void>): Promise<void> {
  for (let index = 0; index < count; index++) await work(index);
}
