import type { Clock } from "../domain/clock.ts";
import { createWheelClock } from "../scheduler/wheel_clock.ts";

/** A clock that only its owner moves on: the one of the service, over a timer that fires when its time is reached. */
export class VirtualClock implements Clock {
  readonly after: Clock["after"];
  readonly #startMs: number;
  readonly #settle: () => Promise<void>;
  #nowMs: number;
  #timer: { readonly atMs: number; readonly callback: () => void } | null = null;

  /** `settle` resolves once every promise callback that can run has run. */
  constructor(startMs: number, settle: () => Promise<void>) {
    this.#startMs = startMs;
    this.#settle = settle;
    this.#nowMs = startMs;
    const { after } = createWheelClock({
      wallMs: () => this.wallMs(),
      monotonicMs: () => this.monotonicMs(),
      set: (delayMs, callback) => this.#timer = { atMs: this.#nowMs + Math.ceil(delayMs), callback },
      clear: () => this.#timer = null,
    });
    this.after = after;
  }

  wallMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs - this.#startMs;
  }

  /** When something happens by itself; wall time, `Infinity`: nothing does. */
  get nextMs(): number {
    return this.#timer?.atMs ?? Infinity;
  }

  /** Moves on to the next time at which something happens, and waits for all that follows from it at once. */
  async fireNext(): Promise<void> {
    const timer = this.#timer;
    if (timer === null) return;
    this.#timer = null;
    this.moveTo(timer.atMs);
    timer.callback();
    await this.#settle();
  }

  /** Moves on to a time at or before the next one. */
  moveTo(atMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, atMs);
  }
}
