/** Workarounds for `node:tls` (in 2.7.11), most of them over a stream that is no socket. */
import type { PeerCertificate, TLSSocket } from "node:tls";

/**
 * A handshake that failed emits `secureConnect` like one that succeeded; its error comes with the first read, which
 * happens by itself. Before the end of a handshake no protocol is agreed on, not even none (`false`).
 *
 * Upstream: https://github.com/denoland/deno/pull/26476
 */
export function hasShakenHands(socket: TLSSocket): boolean {
  return socket.alpnProtocol !== null;
}

/**
 * Returns the certificate of the server; `null` over a stream that is no socket, for which `getPeerCertificate()`
 * throws a `TypeError`.
 *
 * Upstream: no issue was found
 */
export function peerCertificate(socket: TLSSocket): PeerCertificate | null {
  try {
    return socket.getPeerCertificate();
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

/** The reader of TLS over a stream, as far as it matters here. */
interface TlsReader {
  read(buffer: Uint8Array): Promise<number | null>;
}

/**
 * Makes TLS over a stream that is no socket end as it does over a socket. It would read the end of TLS as zero bytes and
 * read on forever, without giving the event loop a turn. Must be called before the handshake has ended.
 *
 * Upstream: no issue was found; https://github.com/denoland/deno/pull/32325 is about the same class
 */
export function endProperly(socket: TLSSocket): void {
  // Only then there is something that reads, and it has not read yet.
  socket.once("secure", () => {
    const reader = readerOf(socket);
    if (reader === null) return;
    const read = reader.read.bind(reader);
    reader.read = async (buffer) => await read(buffer) || null;
  });
}

/** `null` once the connection has ended. */
export function readerOf(socket: TLSSocket): TlsReader | null {
  const handle = Reflect.get(socket, "_handle") as object | null;
  if (handle === null) return null;
  const parts = Object.getOwnPropertySymbols(handle).map((symbol) => Reflect.get(handle, symbol) as unknown);
  const reader = parts.find((part) =>
    typeof part === "object" && part !== null && part.constructor.name === "JSStreamSocket"
  );
  return reader === undefined ? null : reader as TlsReader;
}

/**
 * Returns whether an uncaught error comes from data that a server sent after TLS over a stream had ended, by an error or
 * by its own end: the runtime passes the data to TLS that it has closed. The promise that rejects then can't be caught,
 * and has no effect. After a failed handshake its error has no stack.
 *
 * Upstream: no issue was found
 */
export function isTlsLeftover(error: unknown): boolean {
  return error instanceof Deno.errors.BadResource && error.stack?.includes("node:_tls_wrap") === true ||
    error instanceof Deno.errors.BrokenPipe && error.message === "Channel closed";
}
