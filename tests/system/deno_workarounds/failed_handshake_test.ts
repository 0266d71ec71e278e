import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { connect } from "node:tls";
import { TcpStream } from "../../../src/system/tcp/tcp_stream.ts";
import { inTime } from "../../life/in_time.ts";
import { createCertificate } from "../../support/certificates.ts";
import { beSilent } from "../../support/hostile_servers.ts";
import { startServer } from "../../support/http_servers.ts";

Deno.test(
  "node:tls still emits secureConnect for a server that is not trusted: delete failed_handshake.ts if this fails",
  {
    sanitizeOps: false,
    sanitizeResources: false,
  },
  async () => {
    await using server = startServer(beSilent, { certificate: createCertificate() });
    const stream = new TcpStream(await Deno.connect({ hostname: "127.0.0.1", port: server.port }));
    const socket = connect({ socket: stream as unknown as Socket, host: "localhost" });
    socket.on("error", () => {});
    const connected = new Promise<unknown>((resolve, reject) => {
      socket.once("close", () => reject(new Error("closed")));
      socket.once("secureConnect", () => {
        resolve(socket.alpnProtocol);
        socket.destroy();
        stream.destroy();
      });
    });
    assert.equal(await inTime("secureConnect", connected), null);
  },
);
