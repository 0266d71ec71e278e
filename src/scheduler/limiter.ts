import { onAbort } from "../shared/on_abort.ts";

/**
 * Runs a task once there is a free slot, and resolves or rejects like the task. With a free slot, the task starts before
 * the call returns; the others wait in order.
 *
 * The signal removes a waiting task from the queue; then its reason is thrown and the task never starts. A running
 * task handles the signal itself.
 */
export type Limiter = <T>(task: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/** Limits the number of concurrent tasks, to 1 or more. */
export function createLimiter(limit: number): Limiter {
  /** What starts each waiting task, in order of arrival. */
  const waiting = new Set<() => void>();
  let running = 0;

  const perform = async <T>(task: () => Promise<T>): Promise<T> => {
    try {
      return await asPromise(task);
    } finally {
      // The place is passed on at once, so that no newcomer can slip in before a waiting task.
      const [start] = waiting;
      if (start === undefined) running--;
      else start();
    }
  };

  return (task, signal) => {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (running < limit) {
      running++;
      return perform(task);
    }
    return new Promise((resolve, reject) => {
      const start = (): void => {
        waiting.delete(start);
        stopListening();
        resolve(perform(task));
      };
      const stopListening = onAbort(signal, () => {
        waiting.delete(start);
        reject(signal.reason);
      });
      waiting.add(start);
    });
  };
}

/** A throw becomes a rejection, so that a queue of tasks that throw at once does not nest ever deeper. */
async function asPromise<T>(task: () => Promise<T>): Promise<T> {
  return await task();
}
