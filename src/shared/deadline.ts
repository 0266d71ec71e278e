import type { Clock } from "../domain/clock.ts";
import { onAbort } from "./on_abort.ts";

/** A timeout within a longer operation. */
interface Deadline extends Disposable {
  /** Aborts with the other signal and its reason, or when time is up. */
  readonly signal: AbortSignal;
  /** Whether time was up before the other signal aborted. */
  readonly isTimeUp: boolean;
}

/**
 * Starts a timeout that ends with the block (`using`). `AbortSignal.any` would not do: what it makes can be collected
 * as garbage while something still waits for it.
 */
export function startDeadline(clock: Clock, timeoutMs: number, signal?: AbortSignal): Deadline {
  const end = new AbortController();
  let isTimeUp = false;
  const cancel = clock.after(timeoutMs, () => {
    isTimeUp = !end.signal.aborted;
    end.abort();
  });
  const stopListening = signal && onAbort(signal, () => end.abort(signal.reason));
  if (signal?.aborted) end.abort(signal.reason);
  return {
    signal: end.signal,
    get isTimeUp() {
      return isTimeUp;
    },
    [Symbol.dispose]: () => {
      cancel();
      stopListening?.();
    },
  };
}

/** Waits, or only gives way to other work. Rejects with the signal's reason. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(delayMs, resolve);
  return unlessAborted(promise, signal).finally(cancel);
}

/** Waits for something that can't be ended, but no longer than until the signal aborts. Rejects with its reason. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const stopListening = onAbort(signal, () => reject(signal.reason));
    work.then(resolve, reject).finally(stopListening);
  });
}
