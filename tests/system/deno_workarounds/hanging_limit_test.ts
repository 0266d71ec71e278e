import assert from "node:assert/strict";
import { connect as connectSocket, type Socket } from "node:net";
import { connect as beginTls } from "node:tls";
import { HangingLimit } from "../../../src/system/deno_workarounds/hanging_limit.ts";
import { TcpStream } from "../../../src/system/tcp/tcp_stream.ts";

const SERVER = { host: "example.org", port: 443 };

Deno.test("HangingLimit allows four for each server, and forgets completed ones", async () => {
  const limit = new HangingLimit(() => 0);
  const { promise, resolve } = Promise.withResolvers<void>();
  for (let count = 0; count < 3; count++) limit.add(SERVER, new Promise(() => {}));
  assert.equal(limit.isReached(SERVER), false);
  limit.add(SERVER, promise);
  assert.equal(limit.isReached(SERVER), true);
  assert.equal(limit.isReached({ ...SERVER, port: 444 }), false);
  resolve();
  await promise;
  assert.equal(limit.isReached(SERVER), false);
});

Deno.test("HangingLimit forgets connections without an event after their timeout, without a timer", () => {
  let nowMs = 0;
  const limit = new HangingLimit(() => nowMs);
  for (nowMs = 0; nowMs < 4; nowMs++) limit.addLost(SERVER);
  nowMs = 3_599_999;
  assert.equal(limit.isReached(SERVER), true);
  nowMs = 3_600_000;
  assert.equal(limit.isReached(SERVER), false);
  limit.addLost(SERVER);
  assert.equal(limit.isReached(SERVER), true);
  nowMs = 3_600_001;
  assert.equal(limit.isReached(SERVER), false);
});

Deno.test("HangingLimit forgets servers that are never asked about again", async () => {
  let nowMs = 0;
  const limit = new HangingLimit(() => nowMs);
  const { promise, resolve } = Promise.withResolvers<void>();
  for (let port = 1; port <= 1000; port++, nowMs += 60_000) limit.addLost({ ...SERVER, port });
  limit.add({ ...SERVER, port: 2000 }, promise);
  assert.equal(limit.serverCount, 61);
  nowMs += 3_600_000;
  assert.equal(limit.isReached(SERVER), false);
  assert.equal(limit.serverCount, 1);
  resolve();
  await promise;
  assert.equal(limit.serverCount, 0);
});

/** Begins handshakes with a port of this machine; each returns a function that closes the connection. */
const HANDSHAKES = {
  "Deno.startTls": async (port: number) => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const secured = await Deno.startTls(connection, { hostname: "localhost" });
    secured.handshake().catch(() => {});
    return () => secured.close();
  },
  "node:tls over a socket": async (port: number) => {
    const socket = connectSocket(port, "127.0.0.1");
    await new Promise<void>((resolve) => socket.once("connect", resolve));
    return secure(socket);
  },
  "node:tls over a stream": async (port: number) =>
    secure(new TcpStream(await Deno.connect({ hostname: "127.0.0.1", port })) as unknown as Socket),
};

function secure(socket: Socket): () => void {
  const secured = beginTls({ socket, servername: "localhost" });
  for (const stream of [socket, secured]) stream.on("error", () => {});
  return () => {
    secured.destroy();
    socket.destroy();
  };
}

/** Returns whether a client still responds to clear text, when it has closed its connection in the handshake. */
async function answersAfterClose(kind: keyof typeof HANDSHAKES): Promise<boolean> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const [close, connection] = await Promise.all([HANDSHAKES[kind](listener.addr.port), listener.accept()]);
  try {
    await connection.read(new Uint8Array(4096));
    close();
    await connection.write(new TextEncoder().encode("220 mail.example.org ESMTP\r\n"));
    return await connection.read(new Uint8Array(4096)) !== null;
  } catch {
    return false; // a reset
  } finally {
    connection.close();
  }
}

for (const kind of ["Deno.startTls", "node:tls over a socket"] as const) {
  Deno.test(
    `${kind} keeps a connection that is closed in its handshake: see hanging_limit.ts if this fails`,
    { sanitizeOps: false, sanitizeResources: false },
    async () => assert.equal(await answersAfterClose(kind), true),
  );
}

Deno.test("TcpStream closes a connection in its TLS handshake at once", async () => {
  assert.equal(await answersAfterClose("node:tls over a stream"), false);
});
