import { sleep } from "../shared/deadline.ts";
import type { Clock } from "../domain/clock.ts";
import type { Result } from "../domain/result.ts";
import { StallDetector } from "./stall.ts";

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
