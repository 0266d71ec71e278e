/** Clients of the endpoint, in a process of their own: `endpoint_clients.ts SCENARIO URL`. They never end by themselves. */

const CLIENTS = 200;
const GET = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

type Client = (url: URL) => Promise<void>;

const SCENARIOS: Readonly<Record<string, Client>> = {
  /** Reloads the page again and again. */
  reload: async (url) => void await (await fetch(url)).bytes(),
  /** Requests the page, and reads a kilobyte of it each second. */
  slow_readers: (url) =>
    converse(url, GET, async (connection) => {
      const buffer = new Uint8Array(1024);
      while (await connection.read(buffer) !== null) await pause(1000);
    }),
  /** Connects and sends nothing. */
  idle: (url) => converse(url, "", async (connection) => void await connection.read(new Uint8Array(1))),
  /** Connects and leaves: many thousand connections. */
  connections: (url) => converse(url, "", () => Promise.resolve()),
  /** Sends a head byte by byte. */
  heads: (url) =>
    converse(url, "GET / HTTP/1.1\r\n", async (connection) => {
      for (;;) await send(connection, "a");
    }),
  /** Sends a path that does not end. */
  paths: (url) => converse(url, `GET /${"a".repeat(200_000)}`, () => Promise.resolve()),
  /** Sends a body that does not end to a key that does not exist, and to the page. */
  bodies: (url) =>
    converse(url, "POST /ping/none HTTP/1.1\r\nContent-Length: 1000000000000\r\n\r\n", async (connection) => {
      for (;;) await send(connection, "x".repeat(65_536));
    }),
};

async function converse(
  { hostname, port }: URL,
  text: string,
  use: (connection: Deno.Conn) => Promise<void>,
): Promise<void> {
  using connection = await Deno.connect({ hostname, port: Number(port) });
  await send(connection, text);
  await use(connection);
}

async function send(connection: Deno.Conn, text: string): Promise<void> {
  for (let rest = new TextEncoder().encode(text); rest.length > 0;) {
    rest = rest.subarray(await connection.write(rest));
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const [scenario = "", address = ""] = Deno.args;
const client = SCENARIOS[scenario];
if (client === undefined) throw new Error(`There is no scenario "${scenario}"`);
const url = new URL(address);
await Promise.all(Array.from({ length: CLIENTS }, async () => {
  for (;;) await client(url).catch(() => pause(10));
}));
