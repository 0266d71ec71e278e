import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../../src/domain/store.ts";
import { whileBusy } from "../../../src/state/sqlite/sqlite_connection.ts";
import { createRealClock } from "../../../testing/real_clock.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { NOW_MS, silenceOf } from "../records.ts";
import { openState, withState, withStatePath } from "../state_directory.ts";

const BUSY = new StoreError("cannot write state: busy", "busy");

/** Work that is busy for some time on a fake clock; records the times of its attempts. */
function busyFor(durationMs: number): {
  readonly clock: ReturnType<typeof createFakeClock>;
  readonly triesMs: number[];
  readonly work: () => string;
} {
  const clock = createFakeClock();
  const triesMs: number[] = [];
  return {
    clock,
    triesMs,
    work: () => {
      triesMs.push(clock.monotonicMs());
      if (clock.monotonicMs() < durationMs) throw BUSY;
      return "done";
    },
  };
}

Deno.test("whileBusy() retries ever more seldom until it is done", async () => {
  const { clock, triesMs, work } = busyFor(60_000);
  const done = whileBusy(work, { clock, timeoutMs: 120_000 });
  await clock.advance(62_000);
  assert.equal(await done, "done");
  assert.equal(clock.timers, 0);
  const pausesMs = triesMs.slice(1).map((atMs, index) => atMs - (triesMs[index] ?? 0));
  assert.deepEqual([pausesMs[0], pausesMs.at(-1)], [5, 1_000]);
  assert.deepEqual(pausesMs, pausesMs.toSorted((one, other) => one - other));
});

Deno.test("whileBusy() rejects with the last error after the timeout, and soon after an abort", async () => {
  const { clock, work } = busyFor(Infinity);
  const stop = new AbortController();
  const late = assert.rejects(whileBusy(work, { clock, timeoutMs: 500 }), BUSY);
  const aborted = assert.rejects(whileBusy(work, { clock, timeoutMs: Infinity, signal: stop.signal }), BUSY);
  await clock.advance(600);
  await late;
  await clock.advance(10_000);
  stop.abort();
  await clock.advance(1_000);
  await aborted;
  await assert.rejects(whileBusy(work, undefined), BUSY, "without patience");
  const full = new StoreError("cannot write state: the disk is full", "full");
  await assert.rejects(whileBusy(() => Promise.reject(full), { clock, timeoutMs: 1_000 }), full);
});

Deno.test("a patient store waits for another process without blocking, and keeps the order of its writes", () =>
  withStatePath(async (path) => {
    await withState(path, () => Promise.resolve());
    using other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const patience = { clock: createRealClock(), timeoutMs: 20_000, pauseMsMax: 5 };
    const { store } = await openState(path, { patience });
    const added = store.addSilences([silenceOf("a")]);
    const ended = store.endSilences(["web"], NOW_MS);
    let turns = 0;
    while (turns++ < 10) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual(await store.silences(NOW_MS), []);
    other.exec("ROLLBACK");
    await added;
    assert.equal(await ended, 1);
    await store.close();
  }));
