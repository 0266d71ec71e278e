/**
 * Workaround: a handshake of `node:tls` that failed emits `secureConnect` like one that succeeded; its error comes with
 * the first read, which happens by itself.
 *
 * Upstream: https://github.com/denoland/deno/pull/26476 (in 2.7.11)
 */
import type { TLSSocket } from "node:tls";

/**
 * Returns whether the handshake behind `secureConnect` has succeeded: before its end no protocol is agreed on, not
 * even none (`false`).
 */
export function hasShakenHands(socket: TLSSocket): boolean {
  return socket.alpnProtocol !== null;
}
