/**
 * A wheel alongside the simplest equivalent: a list sorted by deadline, in which equal ones are in the order of their
 * insertion. Each call goes to both and throws if they differ.
 */
import { type Timer, TimerWheel } from "../src/scheduler/wheel_clock.ts";

export type NumberedTimer = Timer<number>;

/** A wheel under comparison. Payloads are the numbers 0, 1, 2 … in the order of insertion. */
export class ComparedWheel {
  readonly #wheel: TimerWheel<number>;
  readonly #waiting: NumberedTimer[] = [];
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

  /** Returns a waiting timer, by its place in the order of expiry. */
  waiting(place: number): NumberedTimer {
    const timer = this.#waiting[place];
    if (timer === undefined) throw new Error(`no timer at place ${place} of ${this.#waiting.length}`);
    return timer;
  }

  insert(deadline: number): void {
    const timer = this.#wheel.insert(deadline, this.#payloads++);
    this.#waiting.splice(this.#placeAfter(timer.deadline), 0, timer);
    this.#compare();
  }

  cancel(place: number): void {
    const timer = this.waiting(place);
    this.#waiting.splice(place, 1);
    if (!this.#wheel.cancel(timer)) throw new Error(`cancel() found no timer ${timer.payload}`);
    this.#compare();
  }

  /** Cancels a timer that is gone. */
  cancelGone(timer: NumberedTimer): void {
    if (this.#wheel.cancel(timer)) throw new Error(`cancel() found timer ${timer.payload}, which is gone`);
    this.#compare();
  }

  /** Returns the timers that expired. */
  advance(tick: number): readonly NumberedTimer[] {
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
    return expected;
  }

  /** Advances to the next deadline of the wheel, as its driver does. */
  advanceToNext(): readonly NumberedTimer[] {
    const next = this.#wheel.nextDeadline();
    return next === null ? [] : this.advance(next);
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
