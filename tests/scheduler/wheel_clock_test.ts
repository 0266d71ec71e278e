import assert from "node:assert/strict";
import type { RawTimer } from "../../src/domain/clock.ts";
import { createWheelClock, type Timer, TimerWheel } from "../../src/scheduler/wheel_clock.ts";
import fc from "../support/property.ts";
import { campaign } from "../../testing/seed.ts";

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

const MAX = Number.MAX_SAFE_INTEGER;

/**
 * A wheel alongside the simplest equivalent: a list sorted by deadline, in which equal ones are in the order of their
 * insertion. Each call goes to both and throws if they differ. Payloads are the numbers 0, 1, 2 … in that order.
 */
class ComparedWheel {
  readonly #wheel: TimerWheel<number>;
  readonly #waiting: Timer<number>[] = [];
  #payloads = 0;

  constructor(tick: number) {
    this.#wheel = new TimerWheel(tick);
  }

  get tick(): number {
    return this.#wheel.tick;
  }

  get size(): number {
    return this.#waiting.length;
  }

  insert(deadline: number): void {
    const timer = this.#wheel.insert(deadline, this.#payloads++);
    this.#waiting.splice(this.#placeAfter(timer.deadline), 0, timer);
    this.#compare();
  }

  cancel(place: number): void {
    const [timer] = this.#waiting.splice(place, 1);
    if (timer === undefined || !this.#wheel.cancel(timer)) {
      throw new Error(`cancel() found no timer at place ${place}`);
    }
    if (this.#wheel.cancel(timer)) throw new Error("cancel() found a timer that is gone");
    this.#compare();
  }

  advance(tick: number): void {
    const expected = this.#waiting.splice(0, this.#placeAfter(tick));
    const expired = this.#wheel.advance(tick);
    if (
      expired.length !== expected.length || expired.some((payload, i) => payload !== expected[i]?.payload)
    ) {
      const wanted = expected.map(({ payload, deadline }) => `${payload}@${deadline}`);
      throw new Error(`advance(${tick}) returned [${expired}], expected [${wanted}]`);
    }
    if (this.tick !== tick) throw new Error(`the wheel is at ${this.tick}, expected ${tick}`);
    this.#compare();
  }

  /** Advances to the next deadline of the wheel, as its driver does. */
  advanceToNext(): void {
    const next = this.#wheel.nextDeadline();
    if (next !== null) this.advance(next);
  }

  #compare(): void {
    if (this.#wheel.isEmpty !== (this.#waiting.length === 0)) {
      throw new Error(`isEmpty is ${this.#wheel.isEmpty}, with ${this.#waiting.length} timers`);
    }
    const next = this.#wheel.nextDeadline();
    const earliest = this.#waiting[0]?.deadline ?? null;
    if (next !== earliest) throw new Error(`nextDeadline() is ${next}, expected ${earliest}`);
  }

  /** Returns how many waiting timers are due at a tick. */
  #placeAfter(tick: number): number {
    const place = this.#waiting.findIndex(({ deadline }) => deadline > tick);
    return place === -1 ? this.#waiting.length : place;
  }
}

Deno.test("TimerWheel matches a sorted list", () => {
  const far = fc.integer({ min: 0, max: 52 }).chain((bits) => fc.integer({ min: 0, max: 2 ** bits }));
  const distance = fc.oneof(fc.nat(3), fc.nat(130), fc.nat(10_000), far);
  const action = fc.oneof(
    { weight: 4, arbitrary: fc.record({ act: fc.constant("insert" as const), by: distance }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant("insert_late" as const), by: distance }) },
    { weight: 2, arbitrary: fc.record({ act: fc.constant("cancel" as const), by: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ act: fc.constant("advance" as const), by: distance }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant("advance_to_next" as const), by: fc.constant(0) }) },
  );
  const play = (start: number, list: readonly { readonly act: string; readonly by: number }[]): void => {
    const wheel = new ComparedWheel(start);
    for (const { act, by } of list) {
      if (act === "insert") wheel.insert(Math.min(MAX, wheel.tick + by));
      if (act === "insert_late") wheel.insert(Math.max(0, wheel.tick - by));
      if (act === "cancel" && wheel.size > 0) wheel.cancel(by % wheel.size);
      if (act === "advance") wheel.advance(Math.min(MAX, wheel.tick + by));
      if (act === "advance_to_next") wheel.advanceToNext();
    }
    while (wheel.size > 0) wheel.advanceToNext();
  };
  const start = fc.oneof(fc.nat(200), fc.maxSafeNat());
  const few = fc.array(action, { maxLength: 60, size: "max" });
  fc.assert(fc.property(start, few, play), { numRuns: campaign(1000) });
  // Fills all levels; to make such a list shorter would take minutes.
  const many = fc.array(action, { minLength: 1_000, maxLength: 4_000, size: "max" });
  fc.assert(fc.property(start, many, play), { numRuns: campaign(20), endOnFailure: true });
});
