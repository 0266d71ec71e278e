/** How long a file system may take to respond. */
const RESPONSE_MS_MAX = 2_000;

/** A timer with a longer delay fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * The timeout is a chain of so many timers: where a process gets no time on a busy machine, each is late, and the
 * thread that asks the file system gets its turns in between.
 */
const TURNS = 20;

/**
 * Waits for a file system, but no longer than the timeout: a call that hangs can't be cancelled, only abandoned.
 *
 * @throws {Deno.errors.TimedOut} If it doesn't respond in time.
 */
export async function inTime<T>(response: Promise<T>, timeoutMs = RESPONSE_MS_MAX): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  let timer = 0;
  const wait = (turnsLeft: number): void => {
    timer = setTimeout(() => {
      if (turnsLeft > 1) return wait(turnsLeft - 1);
      reject(new Deno.errors.TimedOut(`the file system did not respond within ${timeoutMs / 1000} s`));
    }, Math.min(timeoutMs / TURNS, TIMER_MS_MAX));
  };
  wait(TURNS);
  try {
    return await Promise.race([response, late]);
  } finally {
    clearTimeout(timer);
  }
}
