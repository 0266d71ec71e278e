import assert from "node:assert/strict";
import { connect as connectSocket, type Socket } from "node:net";
import { ListenError, type ServeOptions } from "../../../src/domain/http_servers.ts";
import { createHttpServers } from "../../../src/system/http/http_servers.ts";
import type { Clock } from "../../../src/domain/clock.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { createRealClock } from "../../../testing/real_clock.ts";
import { inTime, until } from "../../life/in_time.ts";
import { linesOf } from "../../support/rows.ts";
import { resetConnection } from "../../support/reset_connection.ts";
import { provided } from "../../support/concurrent_tests.ts";

const testWithServer = provided(withServer, Deno.test);

const LOOPBACK = { host: "127.0.0.1", port: 0 };

/** Echoes the request, with the last 20 bytes of the body. */
const ECHO: ServeOptions = {
  handle: async (request) => ({
    status: 200,
    headers: { "x-kind": request.header("x-kind") ?? "none" },
    body: `${request.method} ${request.target} ${new TextDecoder().decode(await request.readTail(20))}`,
  }),
  onBug: (error) => assert.fail(String(error)),
};

async function withServer(
  use: (port: number) => Promise<void>,
  { clock = createRealClock(), options = ECHO } = {},
): Promise<void> {
  const server = await createHttpServers(clock).listen(LOOPBACK, options);
  try {
    await use(server.port);
  } finally {
    await inTime("the server to close", server.close());
  }
}

/** Sends bytes, and returns all that comes back. */
function converse(port: number, sent: string): Promise<string> {
  return inTime("the response", converseForLong(port, sent));
}

/** Returns a request with the line ends that are written as ¶ and ⏎. */
function withLineEnds(text: string): string {
  return text.replaceAll("¶", "\r\n").replaceAll("⏎", "\n");
}

/** The same without a deadline. */
async function converseForLong(port: number, sent: string): Promise<string> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(sent));
  return await new Response(connection.readable).text();
}

testWithServer("HttpServers: a request gets its response, and the connection is closed", async (port) => {
  const rows = `
      GET                    | GET /a?b=1 HTTP/1.1¶Host: x¶X-Kind: test¶¶ | GET /a?b=1
      HTTP/1.0               | GET / HTTP/1.0⏎⏎ | GET /
      HEAD                   | HEAD / HTTP/1.1¶¶ |
      a body with a length   | POST / HTTP/1.1¶Content-Length: 5¶¶hello, and more | POST / hello
      a body in chunks       | POST / HTTP/1.1¶Transfer-Encoding: chunked¶¶3¶hel¶2¶lo¶0¶¶ | POST / hello
      the end of a long body | POST / HTTP/1.1¶Content-Length: 100005¶¶${"x".repeat(100_000)}hello | POST / ${
    "x".repeat(15)
  }hello
      a client that waits for 100 | POST / HTTP/1.1¶Content-Length: 5¶Expect: 100-continue¶¶hello | POST / hello`;
  for (const [name = "", sent = "", end = ""] of linesOf(rows)) {
    const received = await converse(port, withLineEnds(sent));
    assert.match(received, /HTTP\/1\.1 200 OK\r\n/, name);
    assert.ok(
      end === "" ? received.endsWith("\r\n\r\n") : received.trim().endsWith(end),
      `${name}: ${received}`,
    );
    assert.match(received, /\r\nconnection: close\r\n/, name);
    assert.equal(received.startsWith("HTTP/1.1 100 Continue\r\n\r\n"), name.includes("100"), name);
  }
});

testWithServer("HttpServers: a malformed or too large request is rejected with a response", async (port) => {
  const rows = `
      another version           | GET / HTTP/2.0¶¶ | 400
      the preface of HTTP/2     | PRI * HTTP/2.0¶¶SM¶¶ | 400
      a URL instead of a path   | GET http://evil.example/ HTTP/1.1¶¶ | 400
      a blank in the path       | GET /a b HTTP/1.1¶¶ | 400
      a header of two lines     | GET / HTTP/1.1¶A: b¶ c¶¶ | 400
      a blank before the colon  | GET / HTTP/1.1¶A : b¶¶ | 400
      two declared lengths      | POST / HTTP/1.1¶Content-Length: 3¶Transfer-Encoding: chunked¶¶0¶¶ | 400
      an unknown coding         | POST / HTTP/1.1¶Transfer-Encoding: gzip, chunked¶¶ | 400
      a negative length         | POST / HTTP/1.1¶Content-Length: -1¶¶ | 400
      two lengths               | POST / HTTP/1.1¶Content-Length: 1¶Content-Length: 2¶¶ | 400
      a path flood              | GET /${"a".repeat(100_000)} HTTP/1.1¶¶ | 431
      a line without an end     | ${"a".repeat(100_000)} | 431
      a header flood            | GET / HTTP/1.1¶${"A: b¶".repeat(20_000)}¶ | 431`;
  for (const [name = "", sent = "", status] of linesOf(rows)) {
    assert.match(await converse(port, withLineEnds(sent)), new RegExp(`^HTTP/1\\.1 ${status} `), name);
  }
  assert.match(await converse(port, "GET / HTTP/1.1\r\n\r\n"), / 200 /);
});

Deno.test("HttpServers: a body in parts is sent as they come, and marked as whole only if it is", async () => {
  const options: ServeOptions = {
    handle: ({ target }) =>
      Promise.resolve({
        status: 200,
        headers: {},
        body: (async function* () {
          for (const part of ["hello", "", ", world"]) yield new TextEncoder().encode(part);
          if (target === "/fails") throw new Error("no state");
        })(),
      }),
    onBug: (error) => assert.fail(String(error)),
  };
  await withServer(async (port) => {
    const rows = `
      chunks   | GET / HTTP/1.1¶¶      | 5¶hello¶7¶, world¶0¶¶
      HTTP/1.0 | GET / HTTP/1.0¶¶      | hello, world
      HEAD     | HEAD / HTTP/1.1¶¶     |
      failure  | GET /fails HTTP/1.1¶¶ | 5¶hello¶7¶, world¶`;
    for (const [name = "", sent = "", body = ""] of linesOf(rows)) {
      const received = await converse(port, withLineEnds(sent));
      const [head = "", ...rest] = received.split("\r\n\r\n");
      assert.equal(rest.join("\r\n\r\n"), withLineEnds(body), name);
      assert.equal(/\r\ntransfer-encoding: chunked/.test(head), name !== "HTTP/1.0", name);
      assert.doesNotMatch(head, /content-length/, name);
    }
  }, { options });
});

Deno.test("HttpServers: a bug of the handler is status 500, and the server keeps running", async () => {
  const bugs: unknown[] = [];
  const options: ServeOptions = {
    handle: () => Promise.reject(new Error("oops")),
    onBug: (error) => void bugs.push(error),
  };
  await withServer(async (port) => {
    for (let count = 1; count <= 2; count++) {
      assert.match(await converse(port, "GET / HTTP/1.1\r\n\r\n"), /^HTTP\/1\.1 500 /);
      assert.equal(bugs.length, count);
    }
  }, { options });
});

Deno.test("HttpServers: a head that does not arrive within 10 s closes the connection", async () => {
  const clock = createFakeClock();
  await withServer(async (port) => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    await connection.write(new TextEncoder().encode("GET / HT"));
    let hasEnded = false;
    const ended = new Response(connection.readable).text().then((text) => {
      hasEnded = true;
      assert.equal(text, "");
    });
    // The two limits of the connection, and the pause before the next one.
    await until("the connection to be accepted", () => clock.timers >= 3);
    await clock.advance(9_900);
    assert.equal(hasEnded, false);
    await clock.advance(200);
    await inTime("the end of the connection", ended);
  }, { clock });
});

Deno.test("HttpServers: the reads of a connection after its first have a pause between them", async () => {
  const real = createRealClock();
  const waits = new Set<number>();
  const after: Clock["after"] = (ms, callback) => (waits.add(ms), real.after(ms, callback));
  await withServer(async (port) => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\n"));
    await until("the pause before the second read", () => waits.has(20));
    await connection.write(new TextEncoder().encode("\r\n"));
    assert.match(await inTime("the response", new Response(connection.readable).text()), /^HTTP\/1\.1 200 /);
  }, { clock: { ...real, after } });
});

Deno.test("HttpServers: a client that does not read the response is disconnected after a minute", async () => {
  const clock = createFakeClock();
  const body = new Uint8Array(64 * 1024 * 1024);
  let isHandled = false;
  const options: ServeOptions = {
    handle: () => {
      isHandled = true;
      return Promise.resolve({ status: 200, headers: {}, body });
    },
    onBug: ECHO.onBug,
  };
  await withServer(async (port) => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n"));
    await until("the request to be handled", () => isHandled);
    await clock.advance(60_000);
    let bytes = 0;
    await assert.rejects(async () => {
      for await (const piece of connection.readable) bytes += piece.length;
      if (bytes < body.length) throw new Error("cut off");
    });
    assert.ok(bytes < body.length);
  }, { clock, options });
});

/** Connects from one of the addresses of this machine, and resolves with what comes until the connection ends. */
async function connectFrom(
  address: string,
  port: number,
): Promise<{ socket: Socket; received: Promise<string> }> {
  const socket = connectSocket({ port, host: "127.0.0.1", localAddress: address });
  const { promise: received, resolve } = Promise.withResolvers<string>();
  let text = "";
  socket.on("data", (bytes: Uint8Array) => text += new TextDecoder().decode(bytes));
  socket.on("error", () => {});
  socket.on("close", () => resolve(text));
  await inTime("the connection", new Promise<void>((resolve) => socket.once("connect", resolve)));
  return { socket, received };
}

Deno.test("HttpServers: a client with all 256 connections keeps neither others nor itself out", async () => {
  const real = createRealClock();
  // No connection ends by its timeout.
  const clock: Clock = { ...real, after: (ms, callback) => ms < 5_000 ? real.after(ms, callback) : () => {} };
  await withServer(async (port) => {
    const idle: Deno.TcpConn[] = [];
    const connectIdle = async (): Promise<void> =>
      void idle.push(await Deno.connect({ hostname: "127.0.0.1", port }));
    for (let count = 0; count < 256; count++) await connectIdle();
    const other = await connectFrom("127.0.0.2", port);
    for (let count = 0; count < 20; count++) await connectIdle();
    const [oldest = assert.fail(), newest = oldest] = [idle[0], idle.at(-1)];
    assert.equal(await inTime("the oldest connection to end", oldest.read(new Uint8Array(1))), null);
    const request = new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n");
    other.socket.write(request);
    await newest.write(request);
    const responses = [other.received, new Response(newest.readable).text()];
    for (const received of responses) assert.match(await inTime("the response", received), / 200 OK/);
    for (const connection of idle) if (connection !== newest) connection.close();
  }, { clock });
});

Deno.test("HttpServers: a client that resets its connection before it is accepted delays no other one", async () => {
  const clock = createFakeClock();
  await withServer(async (port) => {
    // The server pauses after this one.
    await converse(port, "GET / HTTP/1.1\r\n\r\n");
    const resets = 20;
    for (let count = 0; count < resets; count++) {
      resetConnection(await Deno.connect({ hostname: "127.0.0.1", port }));
    }
    const second = converse(port, "GET / HTTP/1.1\r\n\r\n");
    let isServed = false;
    void second.then(() => isServed = true);
    while (!isServed) {
      // A connection that is open has two timers, so one is that before the next connection.
      await until("the server to accept", () => isServed || clock.timers === 1);
      if (!isServed) await clock.advance(1);
    }
    assert.ok(clock.monotonicMs() < 500, String(clock.monotonicMs()));
    // The last pause.
    await clock.advance(2);
  }, { clock });
});

Deno.test("HttpServers: an address that cannot be listened on is explained", async () => {
  const servers = createHttpServers(createRealClock());
  await withServer(async (port) => {
    await assert.rejects(
      servers.listen({ host: "127.0.0.1", port }, ECHO),
      new ListenError(`cannot listen on "127.0.0.1:${port}": another process listens on this port`),
    );
  });
  await assert.rejects(
    servers.listen({ host: "192.0.2.1", port: 0 }, ECHO),
    new ListenError('cannot listen on "192.0.2.1:0": this machine does not have this address'),
  );
});
