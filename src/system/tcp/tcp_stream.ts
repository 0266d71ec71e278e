import { Duplex } from "node:stream";
import type { Connection, ConnectionTarget, HostAddress } from "../../domain/connections.ts";
import { onAbort } from "../../shared/deadline.ts";
import type { ClearText } from "../tls/start_tls.ts";
import { lookup, type LookupAllOptions } from "node:dns";

export function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}

const READ_BYTES = 16_384;

/**
 * A connection as a stream that is no socket, for `node:tls`: over a socket, a handshake that hangs leaks the file
 * descriptor on Deno 2.7, for ever, and so does one of `Deno.startTls`. This one is closed once it is destroyed.
 */
export class TcpStream extends Duplex {
  readonly #connection: Deno.TcpConn;

  /** Wraps a connection. Without `allowHalfOpen`, the other side's end closes it. */
  constructor(connection: Deno.TcpConn, { allowHalfOpen = true }: { readonly allowHalfOpen?: boolean } = {}) {
    super({ allowHalfOpen });
    this.#connection = connection;
    // A late error without a listener does not crash the process.
    this.on("error", () => {});
  }

  /**
   * Rejects empty writes: when TLS has ended, Deno 2.7 reads nothing from it and writes that here, for ever and
   * without giving the event loop a turn. An exception stops that.
   */
  override write(chunk: Uint8Array, ...rest: never[]): boolean {
    if (chunk.length === 0) throw new Error("There is nothing to write");
    return super.write(chunk, ...rest);
  }

  override _read(): void {
    const buffer = new Uint8Array(READ_BYTES);
    this.#connection.read(buffer).then(
      (count) => this.push(count === null ? null : buffer.subarray(0, count)),
      (error) => this.destroy(error),
    );
  }

  override _write(bytes: Uint8Array, _encoding: string, done: (error?: Error | null) => void): void {
    writeAll(this.#connection, bytes).then(() => done(), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#connection.closeWrite().then(() => done(), () => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    closeQuietly(this.#connection);
    done(error);
  }
}

export async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await connection.write(rest));
}

export function closeQuietly(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It has ended by itself.
  }
}

/** Returns a function that reads what comes next, so many bytes at most; `null`: the other side has ended. */
function readerOf(connection: Deno.Conn, bytesMax = READ_BYTES): Connection["read"] {
  const buffer = new Uint8Array(bytesMax);
  return async () => {
    const count = await connection.read(buffer);
    return count === null ? null : buffer.slice(0, count);
  };
}

export function clearTextOf(connection: Deno.Conn): ClearText {
  return {
    read: readerOf(connection),
    write: (text) => writeAll(connection, new TextEncoder().encode(text)),
  };
}

/** Hands over a connection; aborting the signal closes it. */
export function standingConnection(
  connection: Deno.Conn,
  signal: AbortSignal,
  bytesMax?: number,
): Connection {
  const stopListening = onAbort(signal, () => closeQuietly(connection));
  if (signal.aborted) closeQuietly(connection);
  return {
    read: readerOf(connection, bytesMax),
    write: (bytes) => writeAll(connection, bytes),
    close: () => {
      stopListening();
      closeQuietly(connection);
    },
  };
}

export function streamConnection(stream: Duplex, close: () => void): Connection {
  const chunks: AsyncIterator<Uint8Array> = stream[Symbol.asyncIterator]();
  return {
    read: async () => {
      const { value, done } = await chunks.next();
      return done ? null : value;
    },
    write: (bytes) =>
      new Promise((resolve, reject) =>
        void stream.write(bytes, (error) => error ? reject(error) : resolve())
      ),
    close,
  };
}

/**
 * Returns the IP addresses of a name, in the order of the system. Rejects with the signal's reason, or the system's error.
 *
 * The port is that of a later connection: if the runtime grants `host:port` alone, a name may be looked up for that
 * port and no other.
 */
export function lookUpName(
  { host, port }: ConnectionTarget,
  signal: AbortSignal,
): Promise<readonly HostAddress[]> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stopListening = onAbort(signal, () => reject(signal.reason));
    // The runtime supports the option, but its types lack it.
    const options = { all: true, port } satisfies LookupAllOptions & { readonly port: number };
    lookup(host, options, (error, addresses, ...rest: readonly unknown[]) => {
      stopListening();
      if (error === null) resolve(addresses.map((address) => ({ ...address, token: rest.at(-1) })));
      else reject(error);
    });
  });
}
