/** Connections over TCP in clear text. */
import { isIP } from "node:net";
import type { Clock } from "../../domain/clock.ts";
import type { ConnectionTarget } from "../../domain/connections.ts";
import { connectToAny } from "../deno_workarounds/all_addresses.ts";
import { connectDirectly } from "../deno_workarounds/connect_directly.ts";
import { closeQuietly, withoutBrackets } from "./tcp_stream.ts";

/** What an attempt to connect needs. */
export interface ConnectTcpOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Connects. When the signal aborts, it rejects with its reason, and no descriptor is left behind but those of attempts
 * at other addresses, see {@linkcode connectToAny}.
 */
export async function connectTcp(
  { host, port }: ConnectionTarget,
  options: ConnectTcpOptions,
): Promise<Deno.TcpConn> {
  const { signal } = options;
  signal.throwIfAborted();
  const target = { host: withoutBrackets(host), port };
  let connection: Deno.TcpConn;
  try {
    connection = isIP(target.host) !== 0
      ? await connectDirectly(target, signal)
      : await connectToAny(target, options);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  if (!signal.aborted) return connection;
  closeQuietly(connection);
  throw signal.reason;
}
