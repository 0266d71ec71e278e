/** How long a file system may take to respond. */
const RESPONSE_MS_MAX = 2_000;

/** A timer with a longer delay fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * Waits for a file system, but no longer than the timeout: a call that hangs can't be cancelled, only abandoned.
 *
 * @throws {Deno.errors.TimedOut} If it doesn't respond in time.
 */
export async function inTime<T>(response: Promise<T>, timeoutMs = RESPONSE_MS_MAX): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Deno.errors.TimedOut(`the file system did not respond within ${timeoutMs / 1000} s`)),
    Math.min(timeoutMs, TIMER_MS_MAX),
  );
  try {
    return await Promise.race([response, late]);
  } finally {
    clearTimeout(timer);
  }
}
