import type { TLSSocket } from "node:tls";

/** What reads from TLS that lies over a stream, as far as it matters here. */
interface TlsReader {
  read(buffer: Uint8Array): Promise<number | null>;
}

/**
 * Lets TLS over a stream that is no socket end as it does over a socket. Deno 2.7 takes its end for zero bytes and reads
 * on for ever, without a pause in which anything else could happen: a server that says goodbye would stop this whole
 * process. To be called before the handshake has ended.
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
function readerOf(socket: TLSSocket): TlsReader | null {
  const { _handle: handle } = socket as unknown as { readonly _handle: object | null };
  if (handle === null) return null;
  const parts = Object.getOwnPropertySymbols(handle).map((symbol) => Reflect.get(handle, symbol) as unknown);
  const reader = parts.find((part) =>
    typeof part === "object" && part !== null && part.constructor.name === "JSStreamSocket"
  );
  return reader === undefined ? null : reader as TlsReader;
}
