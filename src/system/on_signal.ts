/** Calls back at each such signal; the returned function stops that. */
export function onSignal(signal: Deno.Signal, callback: () => void): () => void {
  Deno.addSignalListener(signal, callback);
  return () => Deno.removeSignalListener(signal, callback);
}
