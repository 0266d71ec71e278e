import type { Clock } from "../domain/clock.ts";

/**
 * The timeout is a chain of this many timers. If the process stalls on a busy machine, only one of them fires at once,
 * and the work can end before the next one.
 */
const TIMERS = 20;

interface StallSafeTimeoutOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Makes the error when time is up. */
  late(): Error;
}

/** Waits for work of the system, such as a disk that may hang, but no longer than the timeout. */
export async function withStallSafeTimeout<T>(
  work: Promise<T>,
  { clock, timeoutMs, late }: StallSafeTimeoutOptions,
): Promise<T> {
  const { promise: isLate, reject } = Promise.withResolvers<never>();
  let cancel = (): void => {};
  const wait = (timersLeft: number): void => {
    cancel = clock.after(timeoutMs / TIMERS, () => timersLeft > 1 ? wait(timersLeft - 1) : reject(late()));
  };
  wait(TIMERS);
  try {
    return await Promise.race([work, isLate]);
  } finally {
    cancel();
  }
}
