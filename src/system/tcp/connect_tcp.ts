import { isIP } from "node:net";
import type { Clock } from "../../domain/clock.ts";
import type { ConnectionTarget } from "../../domain/connections.ts";
import { connectToAny, connectToOne } from "../deno_workarounds/all_addresses.ts";
import { connectDirectly } from "../deno_workarounds/connect_directly.ts";
import { unlessAborted } from "../../shared/deadline.ts";
import { closeQuietly, withoutBrackets } from "./tcp_stream.ts";

export interface ConnectTcpOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Connects. When the signal aborts, it rejects with its reason, and leaks no file descriptor except those of attempts
 * at other IP addresses, see {@linkcode connectToAny}.
 */
export async function connectTcp(
  { host, port, address }: ConnectionTarget,
  options: ConnectTcpOptions,
): Promise<Deno.TcpConn> {
  const { signal } = options;
  signal.throwIfAborted();
  const target = { host: withoutBrackets(host), port };
  let connection: Deno.TcpConn;
  try {
    connection = isIP(target.host) !== 0
      ? await connectDirectly(target, signal)
      : address !== undefined
      ? await connectToOne({ ...target, address }, signal)
      : await connectToAny(target, options);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  if (!signal.aborted) return connection;
  closeQuietly(connection);
  throw signal.reason;
}

/** Connects to a Unix socket where the target names one, else over TCP. */
export async function connectStream(
  target: ConnectionTarget,
  options: ConnectTcpOptions,
): Promise<Deno.Conn> {
  if (target.socket === undefined) return await connectTcp(target, options);
  const { signal } = options;
  signal.throwIfAborted();
  const attempt = Deno.connect({ transport: "unix", path: target.socket });
  attempt.then((connection) => signal.aborted && closeQuietly(connection), () => {});
  return await unlessAborted(attempt, signal);
}
