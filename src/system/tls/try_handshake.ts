import type { ConnectionOptions, HandshakeTarget } from "../../domain/connections.ts";
import type { CertificateFacts } from "../../domain/tls.ts";
import { onAbort } from "../../shared/on_abort.ts";
import { certificateFacts } from "./certificate_facts.ts";
import { connectTcp, type ConnectTcpOptions } from "../tcp/connect_tcp.ts";
import { askForTls } from "./start_tls.ts";
import { clearTextOf, closeQuietly, TcpStream } from "../tcp/tcp_stream.ts";
import { beginTls, handshaken } from "./tls_stream.ts";

/**
 * Does one handshake and closes that connection without leaking a file descriptor, regardless of the server. Returns
 * the certificate's facts, as far as the runtime reports them; rejects if it is not valid.
 */
export async function tryHandshake(
  { tls, startTls, ...target }: HandshakeTarget,
  { onPhase, clock, signal }: ConnectionOptions & ConnectTcpOptions,
): Promise<CertificateFacts | null> {
  signal.throwIfAborted();
  onPhase?.("connecting");
  const connection = await connectTcp(target, { clock, signal });
  let end = (): void => closeQuietly(connection);
  const stopListening = onAbort(signal, () => end());
  try {
    signal.throwIfAborted();
    if (startTls !== undefined) {
      onPhase?.("STARTTLS");
      await askForTls(clearTextOf(connection), startTls);
    }
    onPhase?.("TLS");
    const stream = new TcpStream(connection);
    const socket = beginTls(stream, tls, { verifies: true });
    end = () => {
      socket.destroy();
      stream.destroy();
    };
    await handshaken(socket, stream, clock);
    return certificateFacts(socket);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    stopListening();
    end();
  }
}
