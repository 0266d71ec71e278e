import { onAbort } from "../shared/on_abort.ts";

/** Limits the number of concurrent tasks; the others wait in order. */
export interface Limiter {
  readonly running: number;
  readonly waiting: number;
  /**
   * Runs a task once there is a free slot, and resolves or rejects like the task. With a free slot, the task
   * starts before `run` returns.
   *
   * The signal removes a waiting task from the queue; then its reason is thrown and the task never starts. A running
   * task handles the signal itself.
   */
  run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/**
 * A limiter. Waiting, leaving and starting cost the same however many wait, also where all wait with one signal.
 *
 * @throws {RangeError} If the limit is not a whole number of 1 or more.
 */
export function createLimiter(limit: number): Limiter {
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new RangeError(`Cannot limit tasks to "${limit}": a limit is a whole number of 1 or more`);
  }
  const queue = new WaitingQueue();
  let running = 0;

  const perform = async <T>(task: () => Promise<T>): Promise<T> => {
    try {
      return await asPromise(task);
    } finally {
      // The place is passed on at once, so that no newcomer can slip in before a waiting task.
      const next = queue.takeFirst();
      if (next === null) running--;
      else next.start();
    }
  };

  return {
    get running() {
      return running;
    },
    get waiting() {
      return queue.size;
    },
    run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (running < limit) {
        running++;
        return perform(task);
      }
      return new Promise((resolve, reject) => {
        const waiter: Waiter = {
          start: () => {
            stopListening();
            resolve(perform(task));
          },
        };
        const stopListening = onAbort(signal, () => {
          queue.remove(waiter);
          reject(signal.reason);
        });
        queue.add(waiter);
      });
    },
  };
}

/** A throw becomes a rejection, so that a queue of tasks that throw at once does not nest ever deeper. */
async function asPromise<T>(task: () => Promise<T>): Promise<T> {
  return await task();
}

interface Waiter {
  start(): void;
}

/** Waiters in order of arrival. An array loses its first entry slowly, so entries are only marked as removed. */
class WaitingQueue {
  #entries: Waiter[] = [];
  #first = 0;
  readonly #removed = new Set<Waiter>();

  get size(): number {
    return this.#entries.length - this.#first - this.#removed.size;
  }

  add(waiter: Waiter): void {
    this.#entries.push(waiter);
  }

  remove(waiter: Waiter): void {
    this.#removed.add(waiter);
  }

  takeFirst(): Waiter | null {
    for (;;) {
      const waiter = this.#entries[this.#first];
      if (waiter === undefined) return null;
      this.#first++;
      if (2 * this.#first >= this.#entries.length) {
        this.#entries = this.#entries.slice(this.#first);
        this.#first = 0;
      }
      if (!this.#removed.delete(waiter)) return waiter;
    }
  }
}
