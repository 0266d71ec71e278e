/** The listeners of a signal through {@linkcode onAbort}. */
const LISTENERS = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when a signal aborts; the returned function stops that. The callback must be a separate function for
 * each call and not throw. A signal that is already aborted calls no listener.
 *
 * The cost is constant for any number of listeners, and hundreds of checks share one signal. With the runtime's own
 * `addEventListener` it is linear, since a signal searches its listeners every time one is added or removed.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const listeners = LISTENERS.get(signal) ?? listenTo(signal);
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
  LISTENERS.set(controller.signal, listeners);
  return {
    signal: controller.signal,
    abort: (reason) => {
      if (controller.signal.aborted) return;
      controller.abort(reason);
      for (const callback of listeners) callback();
    },
  };
}

function listenTo(signal: AbortSignal): Set<() => void> {
  const listeners = new Set<() => void>();
  LISTENERS.set(signal, listeners);
  signal.addEventListener("abort", () => {
    for (const callback of listeners) callback();
  }, { once: true });
  return listeners;
}
