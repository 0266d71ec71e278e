/** Faults of `node:tls` over a stream that are worked around. */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { isTlsLeftover, readerOf } from "../../../src/system/deno_workarounds/node_tls.ts";
import { TcpStream } from "../../../src/system/tcp/tcp_stream.ts";
import { nextUncaught } from "../../../testing/uncaught.ts";
import { inTime } from "../../life/in_time.ts";
import { createAuthority, createCertificate } from "../../support/certificates.ts";
import { beSilent } from "../../support/hostile_servers.ts";
import { startServer, type Visitor } from "../../support/http_servers.ts";

interface Faulty<T> {
  /** @default with a certificate of a CA that is trusted */
  readonly certificate?: ReturnType<typeof createCertificate> | null;
  readonly meet: (visitor: Visitor) => Promise<void> | void;
  /** Returns what shows the fault. */
  readonly use: (socket: TLSSocket) => Promise<T>;
}

function testFault<T>(name: string, faulty: Faulty<T>, check: (found: T) => void): void {
  Deno.test(`node:tls ${name} if this fails`, { sanitizeOps: false, sanitizeResources: false }, async () => {
    const authority = createAuthority();
    const { certificate = createCertificate({ authority }), meet, use } = faulty;
    await using server = startServer(meet, certificate === null ? {} : { certificate });
    const stream = new TcpStream(await Deno.connect({ hostname: "127.0.0.1", port: server.port }));
    const socket = connect({ socket: stream as unknown as Socket, host: "localhost", ca: authority.cert });
    socket.on("error", () => {});
    try {
      check(await inTime(name, use(socket)));
    } finally {
      socket.destroy();
      stream.destroy();
    }
  });
}

const atSecureConnect = <T>(read: (socket: TLSSocket) => T) => (socket: TLSSocket): Promise<T> =>
  new Promise((resolve, reject) => {
    socket.once("close", () => reject(new Error("closed")));
    socket.once("secureConnect", () => resolve(read(socket)));
  });

const tlsIsOver = Promise.withResolvers<void>();

testFault("still rejects data after its end: delete isTlsLeftover", {
  certificate: null,
  meet: async (visitor) => {
    await visitor.readSome();
    await visitor.send("no TLS\r\n");
    await tlsIsOver.promise;
    await visitor.send("more\r\n");
    await visitor.untilGone();
  },
  use: (socket) => {
    socket.once("close", () => tlsIsOver.resolve());
    return nextUncaught();
  },
}, (error) => assert.ok(isTlsLeftover(error)));

testFault("still reads its end as zero bytes: delete endProperly", {
  meet: () => {},
  use: (socket) =>
    new Promise<number | null>((resolve) =>
      socket.once("secure", () => {
        const reader = readerOf(socket) ?? assert.fail();
        const read = reader.read.bind(reader);
        reader.read = async (buffer) => {
          const count = await read(buffer);
          resolve(count);
          return count || null; // or this process would hang
        };
      })
    ),
}, (count) => assert.equal(count, 0));

testFault("still emits secureConnect for a server that is not trusted: delete hasShakenHands", {
  certificate: createCertificate(),
  meet: beSilent,
  use: atSecureConnect((socket) => socket.alpnProtocol),
}, (protocol) => assert.equal(protocol, null));

testFault("still throws in getPeerCertificate(): delete peerCertificate", {
  meet: beSilent,
  use: atSecureConnect((socket) => assert.throws(() => socket.getPeerCertificate(), TypeError)),
}, () => {});
