import { sleep } from "../shared/deadline.ts";
import type { Clock } from "../domain/clock.ts";
import type { Result } from "../domain/check.ts";

/** How far wall and monotonic time may part before the system counts as suspended, or its clock as set. */
export const JUMP_MS = 5_000;
/** How long after a suspend the affected checks run again: the network has to come back. */
export const AFTER_SUSPEND_MS = 10_000;
/** How long after a stall the affected checks run again. */
const AFTER_STALL_MS = 1_000;

interface StallSafeRun {
  /** Ends the wait before the second run. */
  readonly signal: AbortSignal;
  /** Called before the check runs again because of a stall. */
  onStall?(stalledMs: number): void;
}

/**
 * Runs that distinguish a stall of this machine from a problem of a target. A result that is not `ok` doesn't count if
 * this process stalled during the run, or the system was suspended: the check runs again, and that result counts.
 */
export class StallSafeRuns {
  readonly #clock: Clock;
  readonly #detector: StallDetector;
  #running = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#detector = new StallDetector(clock, () => this.#running > 0);
  }

  /**
   * Runs once, or twice.
   *
   * @throws The signal's reason, if it aborts before the second run.
   */
  async run<R extends Result | null>(
    observe: () => Promise<R>,
    { signal, onStall }: StallSafeRun,
  ): Promise<R> {
    const { stalledMs, apartMs } = this.#look();
    this.#running++;
    this.#detector.start();
    try {
      const result = await observe();
      if (result === null || result.condition === "ok") return result;
      const now = this.#look();
      const isStalled = now.stalledMs > stalledMs;
      const wasSuspended = Math.abs(now.apartMs - apartMs) > JUMP_MS;
      if (!isStalled && !wasSuspended) return result;
      if (isStalled) onStall?.(now.stalledMs - stalledMs);
      await sleep(this.#clock, wasSuspended ? AFTER_SUSPEND_MS : AFTER_STALL_MS, signal);
      return await observe();
    } finally {
      this.#running--;
    }
  }

  end(): void {
    this.#detector.end();
  }

  #look(): { readonly stalledMs: number; readonly apartMs: number } {
    return {
      stalledMs: this.#detector.stalledMs,
      apartMs: this.#clock.wallMs() - this.#clock.monotonicMs(),
    };
  }
}

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
