/**
 * Workaround: when `fetch` is aborted in the moment in which its response arrives, it drops the response without closing
 * it, and the connection stays open.
 *
 * Upstream: https://github.com/denoland/deno/issues/33927 (in 2.7.11)
 */
import { setImmediate } from "node:timers";
import { onAbort } from "../../shared/deadline.ts";

/**
 * Returns a signal for `fetch`. It aborts when the other does, but not before all arrived responses were received.
 *
 * On a busy machine both often happen together, because timers are called before the responses that arrived
 * meanwhile. The callbacks of `setImmediate` run after both.
 */
export function abortLate(signal: AbortSignal): { readonly signal: AbortSignal; stop(): void } {
  const late = new AbortController();
  const abort = (): void => late.abort(signal.reason);
  if (signal.aborted) abort();
  return { signal: late.signal, stop: onAbort(signal, () => void setImmediate(abort)) };
}
