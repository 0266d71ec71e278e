import type { Clock } from "../domain/clock.ts";

/**
 * The timeout is a chain of so many timers. If the process gets no time on a busy machine, each of them is late, and the
 * work gets its turns in between.
 */
const TURNS = 20;

/** What {@linkcode inTurns} needs. */
interface InTurnsOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Makes the error when time is up. */
  late(): Error;
}

/** Waits for work of the system, such as of a disk that may hang, but no longer than the timeout. */
export async function inTurns<T>(work: Promise<T>, { clock, timeoutMs, late }: InTurnsOptions): Promise<T> {
  const { promise: isLate, reject } = Promise.withResolvers<never>();
  let cancel = (): void => {};
  const wait = (turnsLeft: number): void => {
    cancel = clock.after(timeoutMs / TURNS, () => turnsLeft > 1 ? wait(turnsLeft - 1) : reject(late()));
  };
  wait(TURNS);
  try {
    return await Promise.race([work, isLate]);
  } finally {
    cancel();
  }
}
