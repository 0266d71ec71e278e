import { sleep } from "../shared/deadline.ts";
import type { Clock } from "../domain/clock.ts";
import type { Result } from "../domain/check.ts";

/** How far wall and monotonic time may part before the system counts as suspended, or its clock as set. */
export const JUMP_MS = 5_000;
/** How long after a suspend the affected checks run again: the network has to come back. */
export const AFTER_SUSPEND_MS = 10_000;
/** How long after a stall the affected checks run again. */
const AFTER_STALL_MS = 1_000;

/** A delay that comes from a stall of this process, not from a busy machine. */
export const STALL_MS = 2_000;
const SAMPLE_EVERY_MS = 1_000;

/**
 * Runs that distinguish a stall of this machine from a problem of a target. A result that is not `ok` doesn't count if
 * this process was paused during the run (SIGSTOP, a frozen container, a hung disk), or the system was suspended: a
 * timeout then may be a response that arrived in time and that the process did not read. The check runs again, and that
 * result counts.
 *
 * While runs are in progress it samples the clock every second. A sample that is much too late is a stall.
 */
export class StallSafeRuns {
  readonly #clock: Clock;
  #running = 0;
  #sampleAtMs = Infinity;
  #stalledMs = 0;
  #cancel = (): void => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Runs once, or twice; `onStall` is called before the second run, if a stall is its reason. The signal ends the wait
   * before it.
   *
   * @throws The signal's reason, if it aborts before the second run.
   */
  async run<R extends Result | null>(
    observe: () => Promise<R>,
    { signal, onStall }: { readonly signal: AbortSignal; onStall?(stalledMs: number): void },
  ): Promise<R> {
    const [stalledMs, apartMs] = [this.#measureStall(), this.#apartMs()];
    this.#running++;
    if (this.#sampleAtMs === Infinity) this.#planSample();
    try {
      const result = await observe();
      if (result === null || result.condition === "ok") return result;
      const stalledForMs = this.#measureStall() - stalledMs;
      const wasSuspended = Math.abs(this.#apartMs() - apartMs) > JUMP_MS;
      if (stalledForMs === 0 && !wasSuspended) return result;
      if (stalledForMs > 0) onStall?.(stalledForMs);
      await sleep(this.#clock, wasSuspended ? AFTER_SUSPEND_MS : AFTER_STALL_MS, signal);
      return await observe();
    } finally {
      this.#running--;
    }
  }

  end(): void {
    this.#sampleAtMs = Infinity;
    this.#cancel();
  }

  #apartMs(): number {
    return this.#clock.wallMs() - this.#clock.monotonicMs();
  }

  /** Returns how long this process has stalled so far; counts a sample that is overdue. */
  #measureStall(): number {
    const nowMs = this.#clock.monotonicMs();
    const lateMs = nowMs - this.#sampleAtMs;
    if (lateMs >= STALL_MS) {
      this.#stalledMs += lateMs;
      this.#sampleAtMs = nowMs;
    }
    return this.#stalledMs;
  }

  #planSample(): void {
    this.#sampleAtMs = this.#clock.monotonicMs() + SAMPLE_EVERY_MS;
    this.#cancel = this.#clock.after(SAMPLE_EVERY_MS, () => {
      this.#measureStall();
      if (this.#running > 0) this.#planSample();
      else this.#sampleAtMs = Infinity;
    });
  }
}

export interface LagSummary {
  /** How many, since the last summary. */
  readonly count: number;
  readonly highestMs: number;
  readonly name: string;
}

/** A shorter lag is not reported. */
const LAG_MS_MIN = 1_000;
const REPORT_EVERY_MS = 60_000;

/**
 * Returns the function to call with the lag of each run. The first lag is reported at once, those of the minute after it
 * together, so that an overload does not fill the log.
 */
export function createLagReporter(
  { after, report }: {
    after(delayMs: number, callback: () => void): void;
    report(summary: LagSummary): void;
  },
): (name: string, lagMs: number) => void {
  let noted: LagSummary | null = null;
  let isResting = false;
  const reportNoted = (): void => {
    isResting = noted !== null;
    if (noted === null) return;
    const summary = noted;
    noted = null;
    after(REPORT_EVERY_MS, reportNoted);
    report(summary);
  };
  return (name, lagMs) => {
    if (lagMs < LAG_MS_MIN) return;
    const lag = { count: 0, highestMs: lagMs, name };
    const highest = noted === null || lagMs > noted.highestMs ? lag : noted;
    noted = { ...highest, count: (noted?.count ?? 0) + 1 };
    if (!isResting) reportNoted();
  };
}
