import assert from "node:assert/strict";
import { ALL_WORK } from "../../src/domain/membership.ts";
import { startPersisting } from "../../src/state/write_schedule.ts";
import { openStateRepository, type StateRepository } from "../../src/state/state_repository.ts";
import { openInMemoryStore } from "../../src/state/sqlite/in_memory_store.ts";
import { testCheck } from "../support/checks.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { type FaultyStore, openFaultyStore } from "../support/faulty_store.ts";

const SECOND = 1000;
const HOUR = 3_600_000;
const CHECK = testCheck("ok");

interface Office {
  readonly clock: FakeClock;
  readonly store: FaultyStore;
  readonly repository: StateRepository;
  readonly bugs: unknown[];
  /** Records a check result, and resolves when it is stored. */
  recordResult(condition: "ok" | "critical"): Promise<void>;
}

async function start(given?: FaultyStore): Promise<Office> {
  const store = given ?? await openFaultyStore();
  const clock = createFakeClock();
  const bugs: unknown[] = [];
  const repository = await openStateRepository({
    store,
    onFailure: () => {},
    reopen: () => openInMemoryStore(),
    newId: () => "report",
    hostName: "test-host",
  });
  const keeping = startPersisting({
    repository,
    checks: () => [CHECK],
    share: ALL_WORK,
    nowMs: clock.wallMs,
    after: clock.after,
    onBug: (error) => void bugs.push(error),
  });
  const recordResult: Office["recordResult"] = (condition) => {
    const nowMs = clock.wallMs();
    const observed = { condition, output: "", detail: "", metrics: {}, performanceData: "" };
    repository.record({ ...observed, check: CHECK, startedAtMs: nowMs, durationMs: 0 }, {
      nowMs,
      suppressedBy: null,
      queue: () => [],
      plan: () => ({ atMs: nowMs + SECOND, overdueAtMs: nowMs + 3 * SECOND, missed: 0 }),
    });
    return keeping.recorded();
  };
  return { clock, store, repository, bugs, recordResult };
}

Deno.test("recorded() batches updates for a second unless they are urgent", async () => {
  const { clock, store, recordResult } = await start();
  await recordResult("ok");
  await clock.advance(500);
  await recordResult("ok");
  await clock.advance(499);
  assert.deepStrictEqual(store.attempts, []);
  await clock.advance(1);
  assert.deepStrictEqual(store.attempts, [2]);
  await clock.advance(10 * SECOND);
  assert.deepStrictEqual(store.attempts, [2]);
});

Deno.test("recorded() writes urgent updates before it resolves, with the pending ones", async () => {
  const { clock, store, recordResult } = await start();
  await recordResult("ok");
  await recordResult("critical");
  assert.deepStrictEqual(store.attempts, [2]);
  await clock.advance(10 * SECOND);
  assert.deepStrictEqual(store.attempts, [2], "the write that was to come is not needed");
});

Deno.test("recorded() retries a store that can't be written after 1, 2, 4, 8 and 16 s, and then every 16 s", async () => {
  const { clock, store, recordResult } = await start();
  store.failure = "full";
  await recordResult("critical");
  const attemptsMs: number[] = [];
  for (let elapsedMs = 0; elapsedMs < 64 * SECOND; elapsedMs += 500) {
    const before = store.attempts.length;
    await clock.advance(500);
    await recordResult(elapsedMs % SECOND === 0 ? "ok" : "critical");
    if (store.attempts.length > before) attemptsMs.push(elapsedMs + 500);
  }
  assert.deepStrictEqual(attemptsMs, [1, 3, 7, 15, 31, 47, 63].map((seconds) => seconds * SECOND));
});

Deno.test("recorded() resets the backoff once the store can be written", async () => {
  const { clock, store, repository, recordResult } = await start();
  store.failure = "busy";
  await recordResult("critical");
  await clock.advance(20 * SECOND);
  store.failure = null;
  await clock.advance(16 * SECOND);
  assert.strictEqual(repository.pending, 0);
  const before = store.attempts.length;
  await recordResult("critical");
  await clock.advance(SECOND);
  assert.strictEqual(store.attempts.length, before + 1);
});

Deno.test("startPersisting() prunes at once and every hour, in steps", async () => {
  const store = await openFaultyStore();
  store.pruneCalls = 3;
  const { clock } = await start(store);
  await clock.advance(0);
  assert.strictEqual(store.pruned, 1);
  await clock.advance(2 * SECOND);
  assert.strictEqual(store.pruned, 3);
  await clock.advance(HOUR - SECOND);
  assert.strictEqual(store.pruned, 3);
  await clock.advance(3 * SECOND);
  assert.strictEqual(store.pruned, 6);
});

Deno.test("startPersisting() calls onBug with a bug, and plans another write", async () => {
  const store = await openFaultyStore();
  const { save } = store;
  const { clock, bugs, repository, recordResult } = await start(store);
  await clock.advance(0);
  store.save = () => Promise.reject(new TypeError("a bug"));
  await recordResult("ok");
  await clock.advance(SECOND);
  assert.ok(bugs.length === 1 && bugs[0] instanceof TypeError);
  store.save = save;
  await clock.advance(SECOND);
  assert.equal(repository.pending, 0);
  assert.deepEqual(store.saved.at(-1)?.map(({ record }) => record.name), [CHECK.name]);
  store.save = () => Promise.reject(new TypeError("a bug"));
  await assert.rejects(recordResult("critical"), TypeError);
});
