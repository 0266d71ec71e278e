import type { Clock } from "../domain/clock.ts";

interface Deadline extends Disposable {
  /** Aborts with the other signal and its reason, or when time is up. */
  readonly signal: AbortSignal;
  /** Whether time was up before the other signal aborted. */
  readonly isTimeUp: boolean;
}

/** Starts a timeout that ends with the block. The signal of `AbortSignal.any` can be garbage-collected while in use. */
export function startDeadline(
  clock: Clock,
  timeoutMs: number,
  signal?: AbortSignal,
  lateReason?: Error,
): Deadline {
  return new RunningDeadline(clock, timeoutMs, signal, lateReason);
}

class RunningDeadline implements Deadline {
  readonly signal: AbortSignal;
  isTimeUp = false;
  readonly #cancel: () => void;
  readonly #stopListening: (() => void) | undefined;

  constructor(clock: Clock, timeoutMs: number, signal?: AbortSignal, lateReason?: Error) {
    const end = createAbort();
    this.signal = end.signal;
    this.#cancel = clock.after(timeoutMs, () => {
      this.isTimeUp = !end.signal.aborted;
      end.abort(lateReason);
    });
    this.#stopListening = signal && onAbort(signal, () => end.abort(signal.reason));
    if (signal?.aborted) end.abort(signal.reason);
  }

  [Symbol.dispose](): void {
    this.#cancel();
    this.#stopListening?.();
  }
}

/** Waits; with a delay of 0, other work gets its turn. */
export function pause(clock: Pick<Clock, "after">, delayMs: number): Promise<void> {
  return new Promise((resolve) => void clock.after(delayMs, resolve));
}

/** Waits for work, but no longer than a time. Resolves to whether the work ended. */
export function endsWithin(
  clock: Pick<Clock, "after">,
  timeoutMs: number,
  work: Promise<unknown>,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(timeoutMs, () => resolve(false));
    work.then(() => resolve(true), reject).finally(cancel);
  });
}

/** Waits. Rejects with the signal's reason. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(delayMs, resolve);
  return unlessAborted(promise, signal).finally(cancel);
}

/** Waits for work that can't be aborted, until the signal aborts. Rejects with its reason. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const stopListening = onAbort(signal, () => reject(signal.reason));
    work.then(resolve, reject).finally(stopListening);
  });
}

const WORK_MS = 5;

/**
 * Returns a function for long work to call between its steps: it yields to other work every few milliseconds, and returns
 * whether it did. `onWork` is called with the time of each step before it yields.
 */
export function createYield(
  clock: Pick<Clock, "monotonicMs" | "after">,
  { onWork }: { readonly onWork?: ((workMs: number) => void) | undefined } = {},
): () => Promise<boolean> {
  let beganMs = clock.monotonicMs();
  return async () => {
    const workMs = clock.monotonicMs() - beganMs;
    if (workMs < WORK_MS) return false;
    onWork?.(workMs);
    await pause(clock, 0);
    beganMs = clock.monotonicMs();
    return true;
  };
}

/**
 * The timeout is a chain of this many timers. If the process stalls on a busy machine, only one of them fires at once,
 * and the work can end before the next one.
 */
const TIMERS = 20;

interface StallSafeTimeoutOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  late(): Error;
}

/** Waits for work of the system, such as a disk that may hang, but no longer than the timeout. */
export async function withStallSafeTimeout<T>(
  work: Promise<T>,
  { clock, timeoutMs, late }: StallSafeTimeoutOptions,
): Promise<T> {
  const { promise: isLate, reject } = Promise.withResolvers<never>();
  let cancel = (): void => {};
  const wait = (timersLeft: number): void => {
    cancel = clock.after(timeoutMs / TIMERS, () => timersLeft > 1 ? wait(timersLeft - 1) : reject(late()));
  };
  wait(TIMERS);
  try {
    return await Promise.race([work, isLate]);
  } finally {
    cancel();
  }
}

/** The listeners of a signal through {@linkcode onAbort}. A weak map of so many signals slows each collection. */
const LISTENERS = Symbol("listeners");

type ListenedSignal = AbortSignal & { [LISTENERS]?: Set<() => void> };

/**
 * Calls back when a signal aborts; the returned function stops that. The callback must be a separate function for
 * each call and not throw. A signal that is already aborted calls no listener.
 *
 * The cost is constant for any number of listeners, and hundreds of checks share one signal. With the runtime's own
 * `addEventListener` it is linear, since a signal searches its listeners every time one is added or removed.
 */
export function onAbort(signal: ListenedSignal, callback: () => void): () => void {
  const listeners = signal[LISTENERS] ?? listenTo(signal);
  listeners.add(callback);
  return () => void listeners.delete(callback);
}

/**
 * Returns a controller that calls the listeners of {@linkcode onAbort} itself. Each run has one, and adding a
 * listener of the runtime is slower than creating it.
 */
export function createAbort(): Pick<AbortController, "signal" | "abort"> {
  const controller = new AbortController();
  const listeners = new Set<() => void>();
  (controller.signal as ListenedSignal)[LISTENERS] = listeners;
  return {
    signal: controller.signal,
    abort: (reason) => {
      if (controller.signal.aborted) return;
      controller.abort(reason);
      for (const callback of listeners) callback();
    },
  };
}

function listenTo(signal: ListenedSignal): Set<() => void> {
  const listeners = new Set<() => void>();
  signal[LISTENERS] = listeners;
  signal.addEventListener("abort", () => {
    for (const callback of listeners) callback();
  }, { once: true });
  return listeners;
}
