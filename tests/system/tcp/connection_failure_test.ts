import assert from "node:assert/strict";
import type { ConnectionPhase } from "../../../src/domain/connections.ts";
import { explainConnectionError } from "../../../src/system/network_failure.ts";
import { testTable } from "../../support/rows.ts";

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
