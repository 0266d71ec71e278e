/** The listeners of a signal through {@linkcode onAbort}. */
const LISTENERS = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when a signal aborts; the answer stops that. The callback must be one of its own for each call and not
 * throw. A signal that has aborted already calls nobody any more.
 *
 * This costs the same however many listen to one signal, and hundreds of checks do. With the runtime's own
 * `addEventListener` each pays for all the others, since a signal looks through its listeners every time one is
 * added or removed.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const listeners = LISTENERS.get(signal) ?? listenTo(signal);
  listeners.add(callback);
  return () => void listeners.delete(callback);
}

/**
 * A controller that calls the listeners of {@linkcode onAbort} itself. Each run has one, and adding a listener of the
 * runtime takes longer than making it.
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
