import { pause } from "../../shared/deadline.ts";
import { StoreError } from "../../domain/store.ts";
import type { Clock } from "../../domain/clock.ts";
import { isBusy } from "./store_failure.ts";

/** How long a store waits for its turn while other processes write. */
export interface Patience {
  readonly clock: Pick<Clock, "monotonicMs" | "after">;
  readonly timeoutMs: number;
  /**
   * The longest pause between two tries. Whichever process asks at the right moment gets the lock, so the one that must
   * go on asks more often than the many that can wait.
   *
   * @default 1000
   */
  readonly pauseMsMax?: number;
  /** Ends the wait earlier. */
  readonly signal?: AbortSignal;
}

/** Between two tries: a tenth of the time that has passed, but no less. */
const PAUSE_MS_MIN = 5;

/** Does some work, and retries it while another process has the locks that it needs. */
export async function whileBusy<T>(work: () => T | Promise<T>, patience: Patience | undefined): Promise<T> {
  if (patience === undefined) return await work();
  const { clock, timeoutMs, pauseMsMax = 1_000, signal } = patience;
  const startMs = clock.monotonicMs();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isRetryable = isBusy(error) || error instanceof StoreError && error.failure === "busy";
      const passedMs = clock.monotonicMs() - startMs;
      if (!isRetryable || passedMs >= timeoutMs || signal?.aborted) throw error;
      const pauseMs = Math.min(Math.max(passedMs / 10, PAUSE_MS_MIN), pauseMsMax);
      await pause(clock, pauseMs);
    }
  }
}
