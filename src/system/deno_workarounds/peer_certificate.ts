/**
 * Workaround: `getPeerCertificate()` of `node:tls` throws a `TypeError` over a stream that is no socket.
 *
 * Upstream: no issue was found (in 2.7.11)
 */
import type { PeerCertificate, TLSSocket } from "node:tls";

/** Returns the certificate of the server; `null` over a stream that is no socket. */
export function peerCertificate(socket: TLSSocket): PeerCertificate | null {
  try {
    return socket.getPeerCertificate();
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}
