import assert from "node:assert/strict";
import type { ConnectionPhase } from "../../../src/domain/connections.ts";
import { explainConnectionError } from "../../../src/system/tcp/connection_failure.ts";

interface Row {
  readonly phase: ConnectionPhase;
  readonly text: string;
  readonly reason: string;
}

const ROWS: readonly Row[] = [
  { phase: "TLS", text: "unexpected end of file", reason: "connection closed during the handshake" },
  { phase: "TLS", text: "tls handshake eof", reason: "connection closed during the handshake" },
  {
    phase: "TLS",
    text: "received fatal alert: DecodeError",
    reason: "server refused the handshake (decode error)",
  },
  {
    phase: "TLS",
    text: "received corrupt message of type InvalidContentType",
    reason: "response is not TLS",
  },
  {
    phase: "reading",
    text: "peer closed connection without sending TLS close_notify: https://docs.rs/rustls#unexpected-eof",
    reason: "connection closed by the server",
  },
  { phase: "reading", text: "unexpected end of file", reason: "connection closed by the server" },
  {
    phase: "reading",
    text: "received fatal alert: BadRecordMac",
    reason: "server ended the connection with a TLS alert (bad record mac)",
  },
  {
    phase: "sending",
    text: "received corrupt message of type InvalidContentType",
    reason: "data of the server is no longer valid TLS",
  },
  {
    phase: "reading",
    text: "cannot decrypt peer's message",
    reason: "data of the server cannot be decrypted: it was altered in transit",
  },
];

Deno.test("explainConnectionError() distinguishes the handshake from later phases", async (t) => {
  for (const { phase, text, reason } of ROWS) {
    await t.step(`${phase}: ${text}`, () => {
      const failure = explainConnectionError(new Error(text), { host: "example.org", port: 443 }, phase);
      assert.deepEqual(failure, { phase, reason });
    });
  }
});
