import type { Clock } from "../domain/clock.ts";
import { withStallSafeTimeout } from "../shared/stall_safe_timeout.ts";

/** How long a file system may take to respond. */
const RESPONSE_MS_MAX = 2_000;

/**
 * Waits for a file system, but no longer than the timeout: a call that hangs can't be cancelled, only abandoned.
 *
 * @throws {Deno.errors.TimedOut} If it doesn't respond in time.
 */
export function inTime<T>(response: Promise<T>, clock: Clock, timeoutMs = RESPONSE_MS_MAX): Promise<T> {
  const late = (): Error =>
    new Deno.errors.TimedOut(`the file system did not respond within ${timeoutMs / 1000} s`);
  return withStallSafeTimeout(response, { clock, timeoutMs, late });
}
