/** A port on loopback that can be shut, and the behavior of its visitors. */
import type { Certificate } from "../../support/certificates.ts";

/** One connection, as the server sees it. */
export interface Visitor {
  /** Reads one line, without its end; fails when the client has left. */
  readLine(): Promise<string>;
  /** Reads so many bytes; fails when the client leaves before. */
  readBytes(count: number): Promise<Uint8Array>;
  /** Fails when the client has left. */
  send(text: string): Promise<void>;
  readonly connection: Deno.Conn;
}

/** A port that stays the same when it is shut. */
export interface Door {
  readonly hostname: string;
  readonly port: number;
  /** Rejects connections from now on. */
  shut(): void;
  open(): void;
  /** Resolves once no connection is handled: data that clients sent before they disconnected was read. */
  untilLeft(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Listens on a loopback address that no other process uses, so that none can bind its port while it is shut. The
 * connection is closed when `meet` is done. With TLS, the handshake is done with the first read.
 */
export function openDoor(
  meet: (visitor: Visitor) => Promise<void>,
  certificateOf?: (address: string) => Certificate,
): Door {
  const hostname = `127.${[0, 0, 0].map(() => 1 + Math.floor(Math.random() * 254)).join(".")}`;
  const certificate = certificateOf?.(hostname);
  const listen = (at: number): Deno.TcpListener | Deno.TlsListener =>
    certificate === undefined
      ? Deno.listen({ hostname, port: at })
      : Deno.listenTls({ hostname, port: at, ...certificate });
  const first = listen(0);
  const { port } = first.addr;
  let listener: Deno.TcpListener | Deno.TlsListener | null = first;
  const talks = new Set<Promise<void>>();
  const open = new Set<Deno.Conn>();
  const accept = async (from: AsyncIterable<Deno.Conn>): Promise<void> => {
    try {
      for await (const connection of from) {
        open.add(connection);
        const talk = meet(visitorOf(connection)).catch(() => {}).finally(() => {
          closeQuietly(connection);
          open.delete(connection);
          talks.delete(talk);
        });
        talks.add(talk);
      }
    } catch {
      // It was shut.
    }
  };
  let accepting = accept(first);
  const shut = (): void => {
    listener?.close();
    listener = null;
  };
  return {
    hostname,
    port,
    shut,
    open: () => {
      if (listener !== null) return;
      listener = listen(port);
      const before = accepting;
      accepting = before.then(() => listener === null ? undefined : accept(listener));
    },
    untilLeft: () => untilOver(talks),
    close: async () => {
      shut();
      for (const connection of open) closeQuietly(connection);
      await Promise.all([accepting, ...talks]);
    },
  };
}

/** Resolves once none of some talks goes on, those included that begin meanwhile. */
export async function untilOver(talks: ReadonlySet<Promise<void>>): Promise<void> {
  do {
    await Promise.all(talks);
    // A connection that was just accepted is handled in the next turn.
    await new Promise((resolve) => setTimeout(resolve));
  } while (talks.size > 0);
}

/** Puts reading lines and bytes over a connection. */
export function visitorOf(connection: Deno.Conn): Visitor {
  const buffer = new Uint8Array(65_536);
  let waiting = new Uint8Array();
  const readMore = async (): Promise<void> => {
    const length = await connection.read(buffer);
    if (length === null) throw new Error("The client has left");
    const joined = new Uint8Array(waiting.length + length);
    joined.set(waiting);
    joined.set(buffer.subarray(0, length), waiting.length);
    waiting = joined;
  };
  const take = (count: number): Uint8Array => {
    const taken = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return taken;
  };
  return {
    connection,
    readLine: async () => {
      while (!waiting.includes(LINE_FEED)) await readMore();
      return new TextDecoder().decode(take(waiting.indexOf(LINE_FEED) + 1)).replace(/\r?\n$/, "");
    },
    readBytes: async (count) => {
      while (waiting.length < count) await readMore();
      return take(count);
    },
    send: async (text) => {
      let rest = new TextEncoder().encode(text);
      while (rest.length > 0) rest = rest.subarray(await connection.write(rest));
    },
  };
}

const LINE_FEED = 10;

/** Also where the other side was faster. */
export function closeQuietly(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // Closed before.
  }
}
