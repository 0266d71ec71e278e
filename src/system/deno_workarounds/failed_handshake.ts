/**
 * Workaround: a handshake of `node:tls` that failed emits `secureConnect` like one that succeeded; its error comes with
 * the first read, which happens by itself.
 *
 * Upstream: https://github.com/denoland/deno/pull/26476 (in 2.7.11)
 */
import type { TLSSocket } from "node:tls";

/** Before the end of a handshake no protocol is agreed on, not even none (`false`), despite `secureConnect`. */
export function hasShakenHands(socket: TLSSocket): boolean {
  return socket.alpnProtocol !== null;
}
