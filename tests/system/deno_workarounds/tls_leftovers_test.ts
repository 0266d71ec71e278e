import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { connect } from "node:tls";
import { isTlsLeftover } from "../../../src/system/deno_workarounds/tls_leftovers.ts";
import { TcpStream } from "../../../src/system/tcp/tcp_stream.ts";
import { nextUncaught } from "../../../testing/uncaught.ts";
import { inTime } from "../../life/in_time.ts";
import { startServer } from "../../support/http_servers.ts";

Deno.test("node:tls still rejects data after its end: delete tls_leftovers.ts if this fails", {
  sanitizeOps: false,
  sanitizeResources: false,
}, async () => {
  const tlsIsOver = Promise.withResolvers<void>();
  await using server = startServer(async (visitor) => {
    await visitor.readSome();
    await visitor.send("no TLS\r\n");
    await tlsIsOver.promise;
    await visitor.send("more\r\n");
    await visitor.untilGone();
  });
  const uncaught = nextUncaught();
  const stream = new TcpStream(await Deno.connect({ hostname: "127.0.0.1", port: server.port }));
  const socket = connect({ socket: stream as unknown as Socket, host: "localhost" });
  socket.on("error", () => {});
  socket.once("close", () => tlsIsOver.resolve());
  try {
    assert.ok(isTlsLeftover(await inTime("an error that nobody can catch", uncaught)));
  } finally {
    socket.destroy();
    stream.destroy();
  }
});
