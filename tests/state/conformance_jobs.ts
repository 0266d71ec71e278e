/** The behavior of every store for jobs. */
import assert from "node:assert/strict";
import type { JobEnd, JobRun, Store } from "../../src/domain/store.ts";
import { pruneAll, type StoreTest } from "./conformance.ts";
import { HOSTILE_TEXTS } from "./hostile.ts";
import { DAY_MS } from "../../src/shared/time_units.ts";
import { beatOf, endOf, NOW_MS, recordOf, updateOf } from "./records.ts";

/** Registers this part of the suite. */
export function testJobs(test: StoreTest): void {
  test("knows since when a job was asked for, or ran, and not since later if the clock is set back", async (store) => {
    await store.job("backup", NOW_MS + 300 * DAY_MS);
    assert.deepEqual(await store.job("backup", NOW_MS), { sinceMs: NOW_MS, last: null, inProgress: [] });
    assert.equal((await store.job("backup", NOW_MS + DAY_MS)).sinceMs, NOW_MS);
    await store.keepJobRun("other", beatOf("a"), NOW_MS + 5);
    assert.equal((await store.job("other", NOW_MS + DAY_MS)).sinceMs, NOW_MS + 5);
    assert.deepEqual(await store.records(), [], "a job is no check");
  });

  test("keeps every member of a run, and gives every text back unchanged", async (store) => {
    const hows = ["exited", "signalled", "not_started", "noted"] as const;
    const ends: readonly Partial<JobEnd>[] = [
      ...hows.map((how) => ({ how })),
      { durationMs: null, exitCode: 0, reason: "", output: "" },
      { atMs: NOW_MS + 0.1, durationMs: 0.1 + 0.2 },
      ...HOSTILE_TEXTS.map((text) => ({ reason: text, output: text })),
    ];
    for (const [index, end] of ends.entries()) {
      const run = beatOf(`run ${index}`, endOf(end), { startedAtMs: NOW_MS - index - 0.5 });
      await keep(store, [run]);
      assert.deepEqual((await factsOf(store)).last, run);
    }
  });

  test("tells every two jobs apart, and every two runs", async (store) => {
    for (const [index, name] of HOSTILE_TEXTS.entries()) {
      await store.keepJobRun(name, beatOf(`${index} ${name}`), NOW_MS + index);
    }
    for (const [index, name] of HOSTILE_TEXTS.entries()) {
      const { sinceMs, inProgress } = await store.job(name, NOW_MS + DAY_MS);
      assert.deepEqual([sinceMs, inProgress], [NOW_MS + index, [beatOf(`${index} ${name}`)]]);
    }
  });

  test("knows runs under way until they end", async (store) => {
    await keep(store, [beatOf("a"), beatOf("b")]);
    assert.deepEqual(await idsOf(store), { last: null, inProgress: ["a", "b"] });
    await keep(store, [beatOf("b", endOf())]);
    assert.deepEqual(await idsOf(store), { last: "b", inProgress: [] }, "a run that ended takes a's place");
    await keep(store, [beatOf("c")]);
    assert.deepEqual(await idsOf(store), { last: "b", inProgress: ["c"] });
    await keep(store, [beatOf("a", endOf({ exitCode: 3 }))]);
    assert.deepEqual(await idsOf(store), { last: "a", inProgress: ["c"] }, "a was alive after all");
    await keep(store, [beatOf("a"), beatOf("c", endOf())]);
    assert.deepEqual(
      await idsOf(store),
      { last: "c", inProgress: [] },
      "what has ended does not begin again",
    );
  });

  test("goes by what was noted last, whatever the clock said", async (store) => {
    await keep(store, [
      beatOf("a", endOf({ atMs: NOW_MS + 300 * DAY_MS }), { startedAtMs: NOW_MS + 300 * DAY_MS }),
      beatOf("b", endOf({ atMs: NOW_MS })),
      beatOf("c", null, { startedAtMs: 0 }),
    ]);
    assert.deepEqual(await idsOf(store), { last: "b", inProgress: ["c"] });
  });

  test("keeps the newest 20 runs of each job, and the one that ended last", async (store) => {
    await store.keepJobRun("other", beatOf("other"), NOW_MS);
    await keep(store, [beatOf("ended", endOf())]);
    const ids = [...Array(50).keys()].map((index) => `run ${index}`);
    for (const id of ids) await keep(store, [beatOf(id)]);
    assert.deepEqual(await idsOf(store), { last: "ended", inProgress: ids.slice(-20) });
    assert.equal((await store.job("other", NOW_MS)).inProgress.length, 1);
    await keep(store, [beatOf("run 3", endOf())]);
    assert.equal((await idsOf(store)).last, "run 3", "one that is forgotten may end");
  });

  test("forgets jobs without a check that nothing was heard of for 30 days", async (store) => {
    await store.save([updateOf("checked")]);
    for (const name of ["checked", "alone", "alive"]) {
      await store.keepJobRun(name, beatOf(name, endOf()), NOW_MS);
    }
    await store.job("asked", NOW_MS);
    const sinces = async (nowMs: number): Promise<readonly number[]> => {
      const names = ["checked", "alone", "alive", "asked"];
      return await Promise.all(names.map(async (name) => (await store.job(name, nowMs)).sinceMs));
    };
    await pruneAll(store, NOW_MS + 30 * DAY_MS - 60_000);
    assert.deepEqual(await sinces(NOW_MS + 29 * DAY_MS), [NOW_MS, NOW_MS, NOW_MS, NOW_MS]);
    await store.keepJobRun("alive", beatOf("again", null, { startedAtMs: NOW_MS + 2 * DAY_MS }), NOW_MS);
    await store.save([updateOf("checked")]);
    const laterMs = NOW_MS + 30 * DAY_MS + 60_000;
    for (const days of [0, 1, 2]) await pruneAll(store, laterMs + days * DAY_MS);
    // Its check was forgotten in the same moment.
    assert.deepEqual(await sinces(laterMs), [laterMs, laterMs, NOW_MS, laterMs]);
  });

  test("keeps a job while its check is kept, however seldom it runs", async (store) => {
    await store.keepJobRun("yearly", beatOf("a", endOf()), NOW_MS);
    const laterMs = NOW_MS + 360 * DAY_MS;
    await store.save([updateOf("yearly", { record: recordOf("yearly", { seenAtMs: laterMs }) })]);
    await pruneAll(store, laterMs);
    assert.equal((await store.job("yearly", laterMs)).last?.id, "a");
  });
}

async function keep(store: Store, runs: readonly JobRun[]): Promise<void> {
  for (const run of runs) await store.keepJobRun("backup", run, NOW_MS);
}

function factsOf(store: Store): ReturnType<Store["job"]> {
  return store.job("backup", NOW_MS);
}

async function idsOf(store: Store) {
  const { last, inProgress } = await factsOf(store);
  return { last: last?.id ?? null, inProgress: inProgress.map(({ id }) => id) };
}
