import assert from "node:assert/strict";
import type { ConnectionPhase } from "../../../src/domain/connections.ts";
import { explainConnectionError } from "../../../src/system/network_failure.ts";
import { testTable } from "../../support/rows.ts";
import { createConnections } from "../../../src/system/tcp/connections.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import type { Clock } from "../../../src/domain/clock.ts";
import { createRealClock } from "../../../testing/real_clock.ts";
import { failsForGood } from "../../../src/system/tls/handshakes.ts";
import { beSilent } from "../../support/hostile_servers.ts";
import { startServer, type Visitor } from "../../support/http_servers.ts";

Deno.test("explainConnectionError() distinguishes the handshake from later phases", async (t) => {
  const table = `
    unexpected end of file                                  | TLS     | connection closed during the handshake
    tls handshake eof                                       | TLS     | connection closed during the handshake
    received fatal alert: DecodeError                       | TLS     | server refused the handshake (decode error)
    received corrupt message of type InvalidContentType     | TLS     | response is not TLS
    peer closed connection without sending TLS close_notify | reading | connection closed by the server
    unexpected end of file                                  | reading | connection closed by the server
    received fatal alert: BadRecordMac | reading | server ended the connection with a TLS alert (bad record mac)
    received corrupt message of type InvalidContentType | sending | data of the server is no longer valid TLS
    cannot decrypt peer's message | reading | data of the server cannot be decrypted: it was altered in transit`;
  await testTable(t, table, (text, name, reason) => {
    const phase = name as ConnectionPhase;
    const failure = explainConnectionError(new Error(text), { host: "example.org", port: 443 }, phase);
    assert.deepEqual(failure, { phase, reason });
  });
});

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

/** A clock on which the timeout of a handshake is over soon. */
function hurriedClock(): Clock {
  const clock = createRealClock();
  return { ...clock, after: (delayMs, callback) => clock.after(Math.min(delayMs, 200), callback) };
}

const TLS = { serverName: "localhost", authorities: [] };

/** A fatal alert (RFC 8446, section 6). */
function alert(description: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(21, 3, 3, 0, 2, 2, description);
}

/** The first visitor is sent something, and those after it wait for ever. */
function answerOnce(bytes: Uint8Array<ArrayBuffer>): {
  meet(visitor: Visitor): Promise<void>;
  readonly visits: number;
} {
  let visits = 0;
  return {
    get visits() {
      return visits;
    },
    async meet(visitor) {
      if (++visits > 1) return await beSilent(visitor);
      await visitor.readSome();
      await visitor.send(bytes);
    },
  };
}

Deno.test("failsForGood() aborts for a server that hangs, and leaks no connection", async () => {
  await using server = startServer(beSilent);
  const target = { host: "127.0.0.1", port: server.port, tls: TLS };
  const { signal } = new AbortController();
  const problems = await Promise.all(
    Array.from({ length: 5 }, () => failsForGood(target, { clock: hurriedClock(), signal })),
  );
  assert.deepEqual(problems, [false, false, false, false, false]);
  await server.untilLeft();
});

Deno.test("connect() and readCertificate() do not repeat a handshake that failed with an alert", async (t) => {
  // bad_certificate, certificate_unknown, certificate_required
  for (const description of [42, 46, 116]) {
    await t.step(`alert ${description}`, async () => {
      for (const method of ["connect", "readCertificate"] as const) {
        const answers = answerOnce(alert(description));
        await using server = startServer(answers.meet);
        const connections = createConnections(hurriedClock());
        const target = { host: "127.0.0.1", port: server.port };
        const { signal } = new AbortController();
        const error = await connections[method]({ ...target, tls: TLS }, { signal }).then(
          () => null,
          (error: unknown) => error,
        );
        assert.match(
          connections.explain(error, target, "TLS").reason,
          /^server (?:refused the handshake|requires a client certificate)/,
        );
        await server.untilLeft();
        assert.equal(answers.visits, 1);
      }
    });
  }
});
