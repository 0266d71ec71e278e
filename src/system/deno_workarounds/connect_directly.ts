/**
 * Workaround: `Deno.connect` mishandles its signal three times. It asks it once more when it has connected; if it has
 * aborted meanwhile, it throws without closing the connection. It ignores an abort while it resolves the name. And if the
 * name does not resolve, it forgets the resource that an abort would close.
 *
 * Upstream: https://github.com/denoland/deno/issues/26819 for the second, none was found for the others (in 2.7.11)
 */
import { onAbort } from "../../shared/deadline.ts";
import type { ConnectionTarget } from "../../domain/connections.ts";
import { closeQuietly } from "../tcp/tcp_stream.ts";

const doNothing = (): void => {};

const REMOVE_ABORT_STEPS = Object.getOwnPropertySymbols(AbortSignal.prototype)
  .find(({ description }) => description === "[[remove]]");

/** Connects to the first address of a name. Rejects with the signal's reason, and then leaves nothing open. */
export function connectDirectly(
  { host, port }: ConnectionTarget,
  signal: AbortSignal,
): Promise<Deno.TcpConn> {
  const end = new AbortController();
  const own = end.signal as unknown as Record<string | symbol, () => void>;
  // It aborts an attempt and does nothing else.
  own["throwIfAborted"] = doNothing;
  // It closes the resource, even after the attempt has failed.
  if (REMOVE_ABORT_STEPS !== undefined) own[REMOVE_ABORT_STEPS] = doNothing;
  return new Promise((resolve, reject) => {
    const stopListening = onAbort(signal, () => {
      end.abort();
      reject(signal.reason);
    });
    Deno.connect({ hostname: host, port, signal: end.signal }).then((connection) => {
      stopListening();
      // The attempt goes on while the name is being resolved.
      if (signal.aborted) closeQuietly(connection);
      resolve(connection);
    }, (error) => {
      stopListening();
      end.abort();
      reject(error);
    });
  });
}
