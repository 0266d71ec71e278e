/** Waiting that ends when somebody interrupts it. */

/** What is tried again after 10 s and then after longer times comes within this one. */
const DEADLINE_MS = 90_000;
const LOOK_EVERY_MS = 25;

/**
 * Looks until something is so.
 *
 * @throws {Error} If it is not within the deadline.
 */
export async function until(what: string, look: () => boolean, signal: AbortSignal): Promise<void> {
  for (const endMs = performance.now() + DEADLINE_MS; !look();) {
    if (performance.now() > endMs) throw new Error(`not in time: ${what}`);
    await pause(LOOK_EVERY_MS, signal);
  }
}

/** Waits for a promise, but not longer than {@linkcode until} does. */
export async function inTime(what: string, promise: Promise<void>, signal: AbortSignal): Promise<void> {
  let hasCome = false;
  await Promise.all([promise.then(() => hasCome = true), until(what, () => hasCome, signal)]);
}

/** Lets time pass. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal.addEventListener("abort", onAbort);
  });
}
