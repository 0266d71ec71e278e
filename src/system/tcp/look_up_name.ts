import { lookup, type LookupAllOptions } from "node:dns";
import { onAbort } from "../../shared/on_abort.ts";
import type { ConnectionTarget, HostAddress } from "../../domain/connections.ts";

/**
 * Returns the IP addresses of a name, in the order of the system. Rejects with the signal's reason, or the system's error.
 *
 * The port is that of a later connection: if the runtime grants `host:port` alone, a name may be looked up for that
 * port and no other.
 */
export function lookUpName(
  { host, port }: ConnectionTarget,
  signal: AbortSignal,
): Promise<readonly HostAddress[]> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stopListening = onAbort(signal, () => reject(signal.reason));
    // The runtime supports the option, but its types lack it.
    const options = { all: true, port } satisfies LookupAllOptions & { readonly port: number };
    lookup(host, options, (error, addresses, ...rest: readonly unknown[]) => {
      stopListening();
      if (error === null) resolve(addresses.map((address) => ({ ...address, token: rest.at(-1) })));
      else reject(error);
    });
  });
}
