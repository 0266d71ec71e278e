import { setImmediate } from "node:timers";
import { onAbort } from "../domain/on_abort.ts";

/** A signal that follows another one. */
export interface LateAbort {
  /** For one call of the runtime. */
  readonly signal: AbortSignal;
  /** Ends the following. */
  stop(): void;
}

/**
 * A signal for calls of the runtime that open something. It aborts when the other does, but not before all that the
 * runtime has ready was handed over.
 *
 * Where an answer and the end of waiting for it fall together, the runtime forgets what it has opened: a connection that
 * nobody can close any more (`fetch` on Deno 2.7). On a busy machine that is no rare case, since timers are called
 * before what has come meanwhile. What `setImmediate` calls comes behind both, and nothing else happens in between.
 */
export function abortLate(signal: AbortSignal): LateAbort {
  const late = new AbortController();
  const abort = (): void => late.abort(signal.reason);
  if (signal.aborted) abort();
  return { signal: late.signal, stop: onAbort(signal, () => void setImmediate(abort)) };
}
