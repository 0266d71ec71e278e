import assert from "node:assert/strict";
import type { RawTimer } from "../../src/domain/clock.ts";
import { createWheelClock } from "../../src/scheduler/wheel_clock.ts";

Deno.test("createWheelClock() calls back in time, and never early", async (t) => {
  const cases: readonly (readonly [name: string, delayMs: number, latestMs: number])[] = [
    ["at once", 0, 0],
    ["a past time", -5, 0],
    ["a short delay", 0.1, 1],
    ["ten seconds", 10_000, 10_001],
    ["30 years", 1e12, 1e12 + 1],
  ];
  for (const [name, delayMs, latestMs] of cases) {
    await t.step(name, () => {
      const timer = createTimer(0.7);
      let calledAtMs = NaN;
      createWheelClock(timer).after(delayMs, () => calledAtMs = timer.monotonicMs() - 0.7);
      timer.runAll();
      assert.ok(calledAtMs >= delayMs - 1e-3, `called at ${calledAtMs}`);
      assert.ok(calledAtMs <= latestMs + 1e-3, `called at ${calledAtMs}`);
    });
  }
});

Deno.test("createWheelClock() sets the timer again if it fires early, as for a delay beyond its range", () => {
  const timer = createTimer();
  const early = {
    ...timer,
    set: (ms: number, call: () => void) => timer.set(Math.min(ms / 2, 2 ** 31), call),
  };
  const calledAtMs: number[] = [];
  const clock = createWheelClock(early);
  for (const delayMs of [100, 1e11]) clock.after(delayMs, () => calledAtMs.push(timer.monotonicMs()));
  for (let wake = 0; wake < 200 && timer.isSet(); wake++) timer.runNext();
  assert.deepEqual(calledAtMs.map(Math.floor), [100, 1e11]);
});

Deno.test("createWheelClock() never calls for Infinity", () => {
  const timer = createTimer();
  const cancel = createWheelClock(timer).after(Infinity, () => assert.fail("is never due"));
  assert.ok(timer.isSet());
  cancel();
  assert.ok(!timer.isSet());
});

Deno.test("createWheelClock() leaves the timer unset once every call is cancelled", () => {
  const timer = createTimer();
  const clock = createWheelClock(timer);
  const cancels = Array.from({ length: 5 }, () => clock.after(10_000, () => assert.fail("was cancelled")));
  for (const cancel of cancels) cancel();
  assert.ok(!timer.isSet());
  let called = 0;
  clock.after(10_000, () => called++);
  for (const cancel of cancels) cancel();
  timer.runAll();
  assert.equal(called, 1);
});

Deno.test("createWheelClock() allows a call to cancel another of its tick, and to add a new one", () => {
  const timer = createTimer();
  const clock = createWheelClock(timer);
  const called: string[] = [];
  clock.after(10_000, () => {
    called.push("first");
    cancelSecond();
    clock.after(10_000, () => called.push("later"));
  });
  const cancelSecond = clock.after(10_000, () => called.push("second"));
  timer.runAll();
  assert.deepEqual(called, ["first", "later"]);
});

Deno.test("createWheelClock() runs the event loop before a call for the current time", () => {
  const timer = createTimer();
  const clock = createWheelClock(timer);
  const called: number[] = [];
  const again = (count: number): void => {
    called.push(count);
    if (count < 3) clock.after(0, () => again(count + 1));
  };
  again(1);
  for (const soFar of [[1, 2], [1, 2, 3]]) {
    timer.runNext();
    assert.deepEqual(called, soFar);
  }
});

Deno.test("createWheelClock() keeps the timer while another call is earlier", () => {
  const timer = createTimer();
  const clock = createWheelClock(timer);
  const called: string[] = [];
  clock.after(5, () => called.push("run"));
  for (let index = 0; index < 100; index++) clock.after(10_000, () => assert.fail("was cancelled"))();
  assert.equal(timer.sets(), 1);
  timer.runAll();
  assert.deepEqual([called, timer.monotonicMs()], [["run"], 5]);
});

Deno.test("createWheelClock() calls in order of time, and in order of the requests within a moment", () => {
  const timer = createTimer();
  const clock = createWheelClock(timer);
  const called: string[] = [];
  for (const delayMs of [30_000, 20, 0, 3, 2_000]) {
    for (const name of ["a", "b"]) clock.after(delayMs, () => called.push(`${delayMs}${name}`));
  }
  timer.runAll();
  assert.deepEqual(called, [0, 3, 20, 2_000, 30_000].flatMap((ms) => [`${ms}a`, `${ms}b`]));
});

Deno.test("createWheelClock() runs every call although another one throws", () => {
  const timer = createTimer();
  const clock = createWheelClock(timer);
  const called: string[] = [];
  clock.after(10_000, () => {
    throw new Error("a defect");
  });
  clock.after(10_000, () => called.push("same moment"));
  const cancel = clock.after(10_000, () => called.push("cancelled meanwhile"));
  clock.after(20_000, () => called.push("later"));
  assert.throws(() => timer.runAll(), /a defect/);
  cancel();
  timer.runAll();
  assert.deepEqual(called, ["same moment", "later"]);
});

/** A timer by hand. */
function createTimer(startMs = 0): RawTimer & {
  isSet(): boolean;
  /** Returns how often it was set. */
  sets(): number;
  /** Moves the time on to the call that is set, and calls. */
  runNext(): void;
  runAll(): void;
} {
  let next: { readonly atMs: number; readonly callback: () => void } | null = null;
  let nowMs = startMs;
  let sets = 0;
  const runNext = (): void => {
    assert.ok(next !== null);
    const { atMs, callback } = next;
    next = null;
    nowMs = Math.max(nowMs, atMs);
    callback();
  };
  return {
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    set: (delayMs, callback) => {
      sets++;
      next = { atMs: nowMs + delayMs, callback };
    },
    clear: () => next = null,
    isSet: () => next !== null,
    sets: () => sets,
    runNext,
    runAll: () => {
      while (next !== null) runNext();
    },
  };
}
