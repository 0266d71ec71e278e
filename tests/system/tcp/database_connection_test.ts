import assert from "node:assert/strict";
import { createConnections } from "../../../src/system/tcp/connections.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";

const PIECE_BYTES = 65_536;

Deno.test("connectDatabase() gives other work its turn while data keeps arriving", async () => {
  const clock = createFakeClock();
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connection = await createConnections(clock).connectDatabase(
    { host: "127.0.0.1", port: listener.addr.port, tls: null },
    { signal: new AbortController().signal },
  );
  using server = await listener.accept();
  const before = clock.timers;
  let bytes = 0;
  while (bytes < 2_000_000) {
    if (bytes % PIECE_BYTES === 0) await server.write(new Uint8Array(PIECE_BYTES));
    const read = connection.read();
    const isTurn = clock.timers > before;
    await clock.advance(0);
    const piece = await read;
    if (isTurn) break;
    bytes += piece?.length ?? 0;
  }
  assert.ok(bytes <= 4 * PIECE_BYTES, `${bytes} bytes without a turn`);
  connection.close();
});
