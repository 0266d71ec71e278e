import assert from "node:assert/strict";
import { shareTimers, type Timers } from "../../src/system/shared_timers.ts";

Deno.test("shareTimers() calls back in time, and never early", async (t) => {
  const cases: readonly (readonly [name: string, delayMs: number, latestMs: number])[] = [
    ["at once", 0, 0],
    ["a past time", -5, 0],
    ["a short delay is exact", 999, 999],
    ["a second", 1000, 1016],
    ["ten seconds", 10_000, 10_016],
    ["what the runtime cannot wait for is cut short", Infinity, 2 ** 31 - 1],
  ];
  for (const [name, delayMs, latestMs] of cases) {
    await t.step(name, () => {
      const timers = createTimers(0.7);
      let calledAtMs = NaN;
      shareTimers(timers)(delayMs, () => calledAtMs = timers.nowMs() - 0.7);
      timers.runAll();
      assert.ok(calledAtMs >= Math.min(delayMs, 2 ** 31 - 100) - 1e-6, `called at ${calledAtMs}`);
      assert.ok(calledAtMs <= latestMs + 1e-6, `called at ${calledAtMs}`);
    });
  }
});

Deno.test("shareTimers() uses one timer for the time limits of one moment", () => {
  const timers = createTimers();
  const after = shareTimers(timers);
  const called: number[] = [];
  for (let index = 0; index < 100; index++) after(10_000, () => called.push(index));
  assert.equal(timers.waiting(), 1);
  timers.runAll();
  assert.deepEqual(called, Array.from({ length: 100 }, (_, index) => index));
});

Deno.test("shareTimers() takes back one call and leaves the others", () => {
  const timers = createTimers();
  const after = shareTimers(timers);
  const called: string[] = [];
  const cancel = after(10_000, () => called.push("first"));
  after(10_000, () => called.push("second"));
  cancel();
  cancel();
  timers.runAll();
  cancel();
  assert.deepEqual(called, ["second"]);
});

Deno.test("shareTimers() keeps no timer once every call is taken back", () => {
  const timers = createTimers();
  const after = shareTimers(timers);
  const cancels = Array.from({ length: 5 }, () => after(10_000, () => assert.fail("was taken back")));
  for (const cancel of cancels) cancel();
  assert.equal(timers.waiting(), 0);
  // The moment is free for others again, whom the old ones cannot take back.
  let called = 0;
  after(10_000, () => called++);
  for (const cancel of cancels) cancel();
  timers.runAll();
  assert.equal(called, 1);
});

Deno.test("shareTimers() lets a call take back another of its moment, and make a new one", () => {
  const timers = createTimers();
  const after = shareTimers(timers);
  const called: string[] = [];
  after(10_000, () => {
    called.push("first");
    cancelSecond();
    after(10_000, () => called.push("later"));
  });
  const cancelSecond = after(10_000, () => called.push("second"));
  timers.runAll();
  assert.deepEqual(called, ["first", "later"]);
});

Deno.test("shareTimers() leaves the timer alone while something else is to come", () => {
  const timers = createTimers();
  const after = shareTimers(timers);
  const called: string[] = [];
  after(5, () => called.push("beat"));
  for (let index = 0; index < 100; index++) after(10_000, () => assert.fail("was taken back"))();
  assert.equal(timers.sets(), 1);
  timers.runAll();
  assert.deepEqual([called, timers.waiting(), timers.nowMs()], [["beat"], 0, 5]);
});

Deno.test("shareTimers() calls in order of time, whatever was asked for first", () => {
  const timers = createTimers();
  const after = shareTimers(timers);
  const called: number[] = [];
  for (const delayMs of [30_000, 20, 0, 3, 2_000]) after(delayMs, () => called.push(delayMs));
  timers.runAll();
  assert.deepEqual(called, [0, 3, 20, 2_000, 30_000]);
});

Deno.test("shareTimers() waits on where the runtime is early", () => {
  const timers = createTimers();
  let calledAtMs = NaN;
  shareTimers({ ...timers, set: (callback, delayMs) => timers.set(callback, Math.floor(delayMs / 2)) })(
    100,
    () => calledAtMs = timers.nowMs(),
  );
  for (let wake = 0; wake < 20 && timers.waiting() > 0; wake++) timers.runNext(1);
  assert.ok(calledAtMs >= 100, `called at ${calledAtMs}`);
});

Deno.test("shareTimers() loses no call because another one throws", () => {
  const timers = createTimers();
  const after = shareTimers(timers);
  const called: string[] = [];
  after(10_000, () => {
    throw new Error("a defect");
  });
  after(10_000, () => called.push("same moment"));
  after(20_000, () => called.push("later"));
  assert.throws(() => timers.runAll(), /a defect/);
  timers.runAll();
  assert.deepEqual(called, ["same moment", "later"]);
});

/** Timers by hand, as the runtime has them. */
function createTimers(startMs = 0): Timers<number> & {
  /** How many are set. */
  waiting(): number;
  /** How many were ever set. */
  sets(): number;
  /** Runs the next one, so much later than it was set for. */
  runNext(lateMs?: number): void;
  runAll(): void;
} {
  const waiting = new Map<number, { readonly atMs: number; readonly callback: () => void }>();
  let nowMs = startMs;
  let last = 0;
  const runNext = (lateMs = 0): void => {
    const [next] = [...waiting].sort(([, one], [, other]) => one.atMs - other.atMs);
    assert.ok(next !== undefined);
    waiting.delete(next[0]);
    nowMs = next[1].atMs + lateMs;
    next[1].callback();
  };
  return {
    nowMs: () => nowMs,
    set: (callback, delayMs) => {
      // Anything else would fire after 1 ms.
      const isTaken = delayMs >= 0 && delayMs <= 2 ** 31 - 1;
      waiting.set(++last, { atMs: nowMs + (isTaken ? delayMs : 1), callback });
      return last;
    },
    clear: (timer) => void waiting.delete(timer),
    waiting: () => waiting.size,
    sets: () => last,
    runNext,
    runAll: () => {
      while (waiting.size > 0) runNext();
    },
  };
}
