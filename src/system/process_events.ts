import { isTlsLeftover } from "./deno_workarounds/node_tls.ts";

/** Calls back for each uncaught error, instead of the runtime's own output. */
export function onUncaughtError(callback: (error: unknown) => void): void {
  globalThis.addEventListener("error", (event) => {
    event.preventDefault();
    callback(event.error);
  });
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    if (!isTlsLeftover(event.reason)) callback(event.reason);
  });
}

/** Calls back at each such signal; the returned function stops that. */
export function onSignal(signal: Deno.Signal, callback: () => void): () => void {
  Deno.addSignalListener(signal, callback);
  return () => Deno.removeSignalListener(signal, callback);
}
