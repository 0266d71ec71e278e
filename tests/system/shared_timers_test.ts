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

/** Timers by hand, as the runtime has them. */
function createTimers(startMs = 0): Timers<number> & { waiting(): number; runAll(): void } {
  const waiting = new Map<number, { readonly atMs: number; readonly callback: () => void }>();
  let nowMs = startMs;
  let last = 0;
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
    runAll: () => {
      for (;;) {
        const [next] = [...waiting].sort(([, one], [, other]) => one.atMs - other.atMs);
        if (next === undefined) return;
        waiting.delete(next[0]);
        nowMs = next[1].atMs;
        next[1].callback();
      }
    },
  };
}
