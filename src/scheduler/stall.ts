import type { Clock } from "../domain/clock.ts";

/** A delay that comes from a stall of this process, not from a busy machine. */
export const STALL_MS = 2_000;
const LOOK_EVERY_MS = 1_000;

/**
 * Detects stalls: this process was paused (SIGSTOP, a frozen container, a hung disk). A timeout then may be a
 * response that arrived in time and that the process did not read.
 *
 * While runs are in progress it samples the clock every second. A sample that is much too late is a stall.
 */
export class StallDetector {
  readonly #clock: Clock;
  readonly #isBusy: () => boolean;
  #lookAtMs = Infinity;
  #stalledMs = 0;
  #cancel = (): void => {};

  /** Creates a detector that samples while `isBusy`, once it was started. */
  constructor(clock: Clock, isBusy: () => boolean) {
    this.#clock = clock;
    this.#isBusy = isBusy;
  }

  /** How long this process has stalled so far; counts a look that is overdue. */
  get stalledMs(): number {
    const nowMs = this.#clock.monotonicMs();
    const lateMs = nowMs - this.#lookAtMs;
    if (lateMs >= STALL_MS) {
      this.#stalledMs += lateMs;
      this.#lookAtMs = nowMs;
    }
    return this.#stalledMs;
  }

  /** Begins to look, unless it does; it ends by itself when no run is in progress. */
  start(): void {
    if (this.#lookAtMs === Infinity) this.#planLook();
  }

  end(): void {
    this.#lookAtMs = Infinity;
    this.#cancel();
  }

  #planLook(): void {
    this.#lookAtMs = this.#clock.monotonicMs() + LOOK_EVERY_MS;
    this.#cancel = this.#clock.after(LOOK_EVERY_MS, () => this.#look());
  }

  #look(): void {
    void this.stalledMs;
    if (this.#isBusy()) this.#planLook();
    else this.#lookAtMs = Infinity;
  }
}
