import { onAbort } from "../shared/on_abort.ts";
import type { Clock } from "../domain/clock.ts";

/** Waits, or only gives way to whatever else is waiting; throws the signal's reason when it aborts. */
export function pause(clock: Clock, signal: AbortSignal, delayMs = 0): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const stopListening = onAbort(signal, () => {
      cancel();
      reject(signal.reason);
    });
    const cancel = clock.after(delayMs, () => {
      stopListening();
      resolve();
    });
  });
}

/** Waits for what cannot be ended, but no longer than until the signal aborts: then `null`. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | null> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return resolve(null);
    const stopListening = onAbort(signal, () => resolve(null));
    work.then(resolve, reject).finally(stopListening);
  });
}
