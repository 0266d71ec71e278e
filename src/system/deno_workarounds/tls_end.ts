/**
 * Workaround: `node:tls` over a stream that is no socket reads the end of TLS as zero bytes and reads on forever,
 * without giving the event loop a turn.
 *
 * Upstream: no issue was found (in 2.7.11); https://github.com/denoland/deno/pull/32325 is about the same class
 */
import type { TLSSocket } from "node:tls";

/** The reader of TLS over a stream, as far as it matters here. */
interface TlsReader {
  read(buffer: Uint8Array): Promise<number | null>;
}

/** Makes TLS over a stream that is no socket end as it does over a socket. Must be called before the handshake has ended. */
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
