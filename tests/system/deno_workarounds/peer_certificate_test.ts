import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { connect } from "node:tls";
import { TcpStream } from "../../../src/system/tcp/tcp_stream.ts";
import { inTime } from "../../life/in_time.ts";
import { createAuthority, createCertificate } from "../../support/certificates.ts";
import { beSilent } from "../../support/hostile_servers.ts";
import { startServer } from "../../support/http_servers.ts";

Deno.test("getPeerCertificate() still throws over a stream: delete peer_certificate.ts if this fails", {
  sanitizeOps: false,
  sanitizeResources: false,
}, async () => {
  const authority = createAuthority();
  await using server = startServer(beSilent, { certificate: createCertificate({ authority }) });
  const stream = new TcpStream(await Deno.connect({ hostname: "127.0.0.1", port: server.port }));
  const socket = connect({ socket: stream as unknown as Socket, host: "localhost", ca: authority.cert });
  socket.on("error", () => {});
  const connected = new Promise<void>((resolve, reject) => {
    socket.once("close", () => reject(new Error("closed")));
    socket.once("secureConnect", () => {
      assert.throws(() => socket.getPeerCertificate(), TypeError);
      resolve();
      socket.destroy();
      stream.destroy();
    });
  });
  await inTime("secureConnect", connected);
});
