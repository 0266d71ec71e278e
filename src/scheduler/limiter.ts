/** Lets so many tasks run at a time; the others wait their turn, first come, first served. */
export interface Limiter {
  /** How many tasks run. */
  readonly running: number;
  /** How many tasks wait. */
  readonly waiting: number;
  /**
   * Runs a task once there is room, and answers what it answers or throws what it throws. A task for which there
   * is room starts before `run` returns.
   *
   * The signal takes a waiting task out of the queue, and then its reason is thrown and the task never starts. What
   * the signal does to a task that runs is for the task to say.
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
      // The place goes from hand to hand at once, so that no newcomer can slip in before a waiting task.
      const first = queue.takeFirst();
      if (first === null) running--;
      else first.start();
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
        queue.add({ signal, start: () => resolve(perform(task)), leave: reject });
      });
    },
  };
}

/** A throw becomes a rejection, so that a queue of tasks that throw at once does not nest ever deeper. */
async function asPromise<T>(task: () => Promise<T>): Promise<T> {
  return await task();
}

/** A task in the queue: exactly one of the two is called, once. */
interface Waiter {
  readonly signal: AbortSignal;
  start(): void;
  leave(reason: unknown): void;
}

interface QueueEntry {
  readonly waiter: Waiter;
  previous: QueueEntry | null;
  next: QueueEntry | null;
}

/** The entries that leave together when their signal aborts. */
interface Company {
  readonly entries: Set<QueueEntry>;
  onAbort(): void;
}

/**
 * Waiters in order of arrival. A linked list, because an array is slow to lose its first member, and a set slow to
 * name it once many were deleted. One listener for each signal, whoever waits with it, because a signal looks
 * through all its listeners whenever one is added or removed.
 */
class WaitingQueue {
  #first: QueueEntry | null = null;
  #last: QueueEntry | null = null;
  #size = 0;
  readonly #companies = new Map<AbortSignal, Company>();

  get size(): number {
    return this.#size;
  }

  add(waiter: Waiter): void {
    const entry: QueueEntry = { waiter, previous: this.#last, next: null };
    if (this.#last === null) this.#first = entry;
    else this.#last.next = entry;
    this.#last = entry;
    this.#size++;
    this.#companyOf(waiter.signal).entries.add(entry);
  }

  takeFirst(): Waiter | null {
    const entry = this.#first;
    if (entry === null) return null;
    this.#unlink(entry);
    const { signal } = entry.waiter;
    const company = this.#companyOf(signal);
    company.entries.delete(entry);
    if (company.entries.size === 0) {
      this.#companies.delete(signal);
      signal.removeEventListener("abort", company.onAbort);
    }
    return entry.waiter;
  }

  #companyOf(signal: AbortSignal): Company {
    const known = this.#companies.get(signal);
    if (known !== undefined) return known;
    const entries = new Set<QueueEntry>();
    const onAbort = () => {
      this.#companies.delete(signal);
      for (const entry of entries) {
        this.#unlink(entry);
        entry.waiter.leave(signal.reason);
      }
    };
    const company = { entries, onAbort };
    this.#companies.set(signal, company);
    signal.addEventListener("abort", onAbort, { once: true });
    return company;
  }

  #unlink(entry: QueueEntry): void {
    if (entry.previous === null) this.#first = entry.next;
    else entry.previous.next = entry.next;
    if (entry.next === null) this.#last = entry.previous;
    else entry.next.previous = entry.previous;
    this.#size--;
  }
}
