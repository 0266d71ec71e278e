/**
 * A wheel alongside the simplest equivalent: a list sorted by deadline, in which equal ones are in the order of their
 * insertion. Each call goes to both and throws if they differ.
 */
import { TimerWheel } from "../src/scheduler/wheel.ts";
import type { TimerHandle } from "../src/scheduler/timer_table.ts";

interface Waiting {
  readonly deadline: number;
  readonly payload: number;
  readonly handle: TimerHandle;
}

/** A wheel under comparison. Payloads are the numbers 0, 1, 2 … in the order of insertion. */
export class ComparedWheel {
  readonly #wheel: TimerWheel<number>;
  readonly #waiting: Waiting[] = [];
  #payloads = 0;
  #cancelled = 0;
  #earlyWakes = 0;

  constructor(tick: number) {
    this.#wheel = new TimerWheel(tick);
  }

  get tick(): number {
    return this.#wheel.tick;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Handle and deadline of a waiting timer, by its place in the order of expiry. */
  waiting(place: number): Waiting {
    const timer = this.#waiting[place];
    if (timer === undefined) throw new Error(`no timer at place ${place} of ${this.#waiting.length}`);
    return timer;
  }

  insert(deadline: number): TimerHandle {
    const payload = this.#payloads++;
    const handle = this.#wheel.insert(deadline, payload);
    const timer = { deadline: Math.max(deadline, this.tick), payload, handle };
    this.#waiting.splice(this.#placeAfter(timer.deadline), 0, timer);
    this.#compare();
    return handle;
  }

  cancel(place: number): void {
    const { handle } = this.waiting(place);
    this.#waiting.splice(place, 1);
    this.#cancelled++;
    if (!this.#wheel.cancel(handle)) throw new Error(`cancel(${handle}) found no timer`);
    this.#compare();
  }

  /** Cancels a timer that is gone. */
  cancelGone(handle: TimerHandle): void {
    if (this.#wheel.cancel(handle)) throw new Error(`cancel(${handle}) found a timer that is gone`);
    this.#compare();
  }

  /** The handles of the timers that expired. */
  advance(tick: number): readonly TimerHandle[] {
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
    return expected.map(({ handle }) => handle);
  }

  /** Advances to the next deadline of the wheel, as its driver does. */
  advanceToNext(): readonly TimerHandle[] {
    const next = this.#wheel.nextDeadline();
    if (next === null) return [];
    const expired = this.advance(next);
    if (expired.length === 0) this.#earlyWakes++;
    if (this.#earlyWakes > this.#cancelled) {
      throw new Error(`${this.#earlyWakes} early wakes after ${this.#cancelled} cancelled timers`);
    }
    return expired;
  }

  #compare(): void {
    if (this.#wheel.size !== this.#waiting.length) {
      throw new Error(`size is ${this.#wheel.size}, expected ${this.#waiting.length}`);
    }
    const next = this.#wheel.nextDeadline();
    const earliest = this.#waiting[0]?.deadline ?? null;
    const early = next !== null && earliest !== null && next >= this.tick && next < earliest;
    if (next !== earliest && !(early && this.#cancelled > 0)) {
      throw new Error(`nextDeadline() is ${next}, expected ${earliest}`);
    }
  }

  /** Returns how many waiting timers are due at a tick. */
  #placeAfter(tick: number): number {
    let low = 0;
    let high = this.#waiting.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.waiting(middle).deadline <= tick) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
