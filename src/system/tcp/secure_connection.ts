import type { Connection, TlsExpectations } from "../../domain/connections.ts";
import { onAbort } from "../../shared/on_abort.ts";
import { beginTls, handshaken } from "../tls/tls_stream.ts";
import type { ConnectTcpOptions } from "./connect_tcp.ts";
import { streamConnection, TcpStream } from "./tcp_stream.ts";

/** Starts TLS on a connection, which ends if that fails; aborting the signal closes it, also later. */
export async function secureConnection(
  connection: Deno.TcpConn,
  tls: TlsExpectations,
  { clock, signal }: ConnectTcpOptions,
): Promise<Connection> {
  // A handshake over a socket would leak its file descriptor when it hangs, see `TcpStream`.
  const base = new TcpStream(connection);
  const secured = beginTls(base, tls, { verifies: tls.refuses === undefined });
  const end = (): void => {
    secured.destroy();
    base.destroy();
  };
  const stopListening = onAbort(signal, end);
  try {
    await handshaken(secured, base, clock);
    signal.throwIfAborted();
  } catch (error) {
    stopListening();
    end();
    signal.throwIfAborted();
    throw error;
  }
  return streamConnection(secured, () => {
    stopListening();
    end();
  });
}
