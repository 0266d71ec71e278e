/** Servers on loopback that do to a client whatever a test wants, byte by byte. */
import { inTime } from "../life/in_time.ts";
import type { Certificate } from "./certificates.ts";
import { waitingFor } from "../../testing/test_notes.ts";

/** One connection, as the server sees it. */
export interface Visitor {
  readonly number: number;
  readonly connection: Deno.Conn;
  /** Reads up to the end of a request head, which it returns; fails when the client leaves before. */
  readHead(): Promise<string>;
  /** Reads whatever comes first; fails when the client leaves before. */
  readSome(): Promise<void>;
  /** Reads one line, without its end; fails when the client leaves before. */
  readLine(): Promise<string>;
  /** Reads so many bytes or more; fails when the client leaves before. */
  readBytes(count: number): Promise<void>;
  send(content: string | Uint8Array): Promise<void>;
  /** Carries bytes between the client and another connection until that one ends. */
  exchange(other: Deno.Conn): Promise<void>;
  untilGone(): Promise<void>;
}

export interface TestServer extends AsyncDisposable {
  readonly port: number;
  /** Its URL without a path: `http://127.0.0.1:PORT`. */
  readonly origin: string;
  readonly heads: readonly string[];
  /** What came in lines, in order. */
  readonly received: string;
  readonly visits: number;
  /**
   * Waits until no process has a connection to this server any more.
   * @throws {Error} If one still does after five seconds.
   */
  untilLeft(): Promise<void>;
  /** Resolves when every client has disconnected by itself, and no more can connect. */
  close(): Promise<void>;
}

export interface ServerOptions {
  readonly certificate?: Certificate;
}

/**
 * Starts a server that passes every connection to `meet`. When that is done the server closes the connection; errors
 * because the client has disconnected are ignored.
 */
export function startServer(
  meet: (visitor: Visitor) => Promise<void> | void,
  { certificate }: ServerOptions = {},
): TestServer {
  const address = { hostname: "127.0.0.1", port: 0 };
  const listener = certificate === undefined
    ? Deno.listen(address)
    : Deno.listenTls({ ...address, ...certificate });
  const { port } = listener.addr;
  const heads: string[] = [];
  let received = "";
  const open = new Set<Promise<void>>();
  const connections = new Set<Deno.Conn>();
  let visits = 0;
  const welcome = (connection: Deno.Conn): void => {
    const number = visits++;
    connections.add(connection);
    const onText = (text: string): void => void (received += text);
    const conversation = converse(connection, { number, meet, heads, onText }).finally(() => {
      connections.delete(connection);
      open.delete(conversation);
    });
    open.add(conversation);
  };
  let isListening = true;
  const accepting = (async () => {
    while (isListening) {
      try {
        welcome(await listener.accept());
      } catch {
        // Closed by the end of the test, or a handshake or a connection that came to nothing.
      }
    }
  })();
  const close = async (): Promise<void> => {
    if (isListening) listener.close();
    isListening = false;
    await inTime("the server to end", Promise.all([accepting, ...open]));
  };
  return {
    port,
    origin: `${certificate === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    heads,
    get received() {
      return received;
    },
    get visits() {
      return visits;
    },
    untilLeft: () => untilLeft(port),
    close,
    async [Symbol.asyncDispose]() {
      const closed = close();
      for (const connection of connections) closeQuietly(connection);
      await closed;
    },
  };
}

/** Starts a server that responds to every request with the same bytes and closes the connection. */
export function startAnswering(answer: string | Uint8Array, options: ServerOptions = {}): TestServer {
  return startServer(async (visitor) => {
    await visitor.readHead();
    await visitor.send(answer);
  }, options);
}

/** The text of a whole response with a correct length. */
export function response(status: number, headers: Readonly<Record<string, string>> = {}, body = ""): string {
  const length = new TextEncoder().encode(body).length;
  const lines = Object.entries({ ...headers, "content-length": `${length}` })
    .map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Test\r\n${lines.join("")}\r\n${body}`;
}

/** Returns a port of this machine without a listener, at least until the system assigns it to another process. */
export function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  listener.close();
  return listener.addr.port;
}

/**
 * Takes a port of 127.0.0.1 without a listener until this is disposed. It belongs to the near end of a
 * connection, so no process can listen on it.
 */
export async function startRefusing(): Promise<Disposable & { readonly port: number }> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const [near, far] = await Promise.all([Deno.connect({ port: listener.addr.port }), listener.accept()]);
  return {
    port: near.localAddr.port,
    [Symbol.dispose]: () => {
      near.close();
      far.close();
    },
  };
}

/**
 * Waits until no process of this machine has an IPv4 socket that leads to one of these ports. If the system does not
 * expose them (it has no `/proc`), this returns at once. A look takes some milliseconds, so a test of many servers
 * waits for all of them in the end.
 * @throws {Error} If some still do after two minutes.
 */
export function untilLeft(...ports: readonly number[]): Promise<void> {
  return waitingFor(`every socket to leave port ${ports.join(", ")}`, lookUntilLeft(ports));
}

/** Collects ports, and waits in the end until every socket has left them. */
export function collectPorts(): AsyncDisposable & { add(port: number): void } {
  const ports: number[] = [];
  return { add: (port) => void ports.push(port), [Symbol.asyncDispose]: () => untilLeft(...ports) };
}

async function lookUntilLeft(ports: readonly number[]): Promise<void> {
  let pauseMs = 2;
  for (const end = performance.now() + 120_000; performance.now() < end;) {
    if (socketsTo(ports) === 0) return;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    pauseMs = Math.min(100, pauseMs * 2);
  }
  throw new Error(`${socketsTo(ports)} sockets still lead to port ${ports.join(", ")}`);
}

/** A socket without an inode is one that only the kernel remembers; its lines are most of a table of a megabyte. */
function socketsTo(ports: readonly number[]): number {
  const ends = ports.map((port) => port.toString(16).toUpperCase().padStart(4, "0"));
  const line = new RegExp(`^ *\\d+: \\S+ [0-9A-F]+:(?:${ends.join("|")})(?: +\\S+){5} +[1-9]`, "gm");
  return readTable().match(line)?.length ?? 0;
}

function readTable(): string {
  try {
    return Deno.readTextFileSync("/proc/self/net/tcp");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

interface Conversation {
  readonly number: number;
  readonly meet: (visitor: Visitor) => Promise<void> | void;
  readonly heads: string[];
  onText(text: string): void;
}

async function converse(connection: Deno.Conn, conversation: Conversation): Promise<void> {
  const { number, meet, heads, onText } = conversation;
  const buffer = new Uint8Array(65_536);
  let waiting = "";
  const readMore = async (): Promise<number> => {
    const length = await connection.read(buffer);
    if (length === null) throw new Error("The client has left");
    const text = new TextDecoder("latin1").decode(buffer.subarray(0, length));
    waiting += text;
    onText(text);
    return length;
  };
  const visitor: Visitor = {
    number,
    connection,
    async readHead() {
      while (!waiting.includes("\r\n\r\n")) await readMore();
      const head = new TextDecoder().decode(Uint8Array.from(waiting, (letter) => letter.charCodeAt(0)));
      waiting = "";
      heads.push(head);
      return head;
    },
    async readSome() {
      if (await connection.read(new Uint8Array(1)) === null) throw new Error("The client has left");
    },
    async readLine() {
      while (!waiting.includes("\n")) await readMore();
      const end = waiting.indexOf("\n");
      const line = waiting.slice(0, end).replace(/\r$/, "");
      waiting = waiting.slice(end + 1);
      return line;
    },
    async readBytes(count) {
      for (let left = count; left > 0;) left -= await readMore();
    },
    async send(content) {
      let rest = typeof content === "string" ? new TextEncoder().encode(content) : content;
      while (rest.length > 0) rest = rest.subarray(await connection.write(rest));
    },
    exchange: (other) => exchange(connection, other),
    async untilGone() {
      try {
        while (await connection.read(buffer) !== null);
      } catch {
        // Gone with a reset.
      }
    },
  };
  try {
    await meet(visitor);
  } catch {
    // The client has left.
  } finally {
    closeQuietly(connection);
  }
}

async function exchange(client: Deno.Conn, other: Deno.Conn): Promise<void> {
  const carry = async (from: Deno.Conn, to: Deno.Conn): Promise<void> => {
    const chunk = new Uint8Array(16_384);
    for (let length = await from.read(chunk); length !== null; length = await from.read(chunk)) {
      for (let rest = chunk.subarray(0, length); rest.length > 0;) rest = rest.subarray(await to.write(rest));
    }
  };
  carry(client, other).then(() => other.closeWrite()).catch(() => closeQuietly(other));
  await carry(other, client).finally(() => closeQuietly(other));
}

export function closeQuietly(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // Closed before.
  }
}

/** A Unix socket that forwards connections to a port. */
export function bridge(path: string, port: number): AsyncDisposable {
  const listener = Deno.listen({ transport: "unix", path });
  const open = new Set<Promise<void>>();
  const carry = async (connection: Deno.Conn): Promise<void> => {
    const inner = await Deno.connect({ hostname: "127.0.0.1", port });
    await Promise.all([
      connection.readable.pipeTo(inner.writable),
      inner.readable.pipeTo(connection.writable),
    ]);
  };
  const accepting = (async () => {
    for await (const connection of listener) open.add(carry(connection).catch(() => {}));
  })();
  return {
    async [Symbol.asyncDispose]() {
      listener.close();
      await Promise.all([accepting, ...open]);
    },
  };
}
