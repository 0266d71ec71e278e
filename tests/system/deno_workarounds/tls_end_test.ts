import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { connect } from "node:tls";
import { readerOf } from "../../../src/system/deno_workarounds/tls_end.ts";
import { TcpStream } from "../../../src/system/tcp/tcp_stream.ts";
import { inTime } from "../../life/in_time.ts";
import { createAuthority, createCertificate } from "../../support/certificates.ts";
import { startServer } from "../../support/http_servers.ts";

Deno.test("node:tls over a stream still reads its end as zero bytes: delete tls_end.ts if this fails", {
  sanitizeOps: false,
  sanitizeResources: false,
}, async () => {
  const authority = createAuthority();
  await using server = startServer(() => {}, { certificate: createCertificate({ authority }) });
  const { promise: ended, resolve } = Promise.withResolvers<number | null>();
  const stream = new TcpStream(await Deno.connect({ hostname: "127.0.0.1", port: server.port }));
  const socket = connect({ socket: stream as unknown as Socket, host: "localhost", ca: authority.cert });
  socket.on("error", () => {});
  socket.once("secure", () => {
    const reader = readerOf(socket);
    assert.ok(reader !== null);
    const read = reader.read.bind(reader);
    reader.read = async (buffer) => {
      const count = await read(buffer);
      resolve(count);
      return count || null; // or this process would hang
    };
  });
  assert.equal(await inTime("the end of TLS", ended), 0);
  socket.destroy();
  stream.destroy();
});
