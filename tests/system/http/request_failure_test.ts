import assert from "node:assert/strict";
import { explainRequestError } from "../../../src/system/http/request_failure.ts";

const TARGET = "https://user:password@example.org:8443/p(a)th?token=secret";

/** The prefixes of the runtime before the reason. */
const PREFIXES = {
  connect:
    "error sending request for url (https://example.org:8443/p(a)th?token=secret): client error (Connect): ",
  send: "error sending request from 10.0.0.1:41000 for https://example.org:8443/p(a)th?token=secret " +
    "(10.0.0.2:8443): client error (SendRequest): ",
  none: "",
} as const;

interface Row {
  readonly prefix: keyof typeof PREFIXES;
  readonly text: string;
  readonly phase: string;
  readonly reason: string;
}

const CERTIFICATE = "invalid peer certificate: ";

const ROWS: readonly Row[] = [
  {
    prefix: "connect",
    text: "tcp connect error: Connection refused (os error 111)",
    phase: "connecting",
    reason: "connection refused",
  },
  {
    prefix: "connect",
    text: "tcp connect error: No connection could be made because the target machine actively refused it. " +
      "(os error 10061)",
    phase: "connecting",
    reason: "connection refused",
  },
  {
    prefix: "connect",
    text: "tcp connect error: No route to host (os error 113)",
    phase: "connecting",
    reason: "no route to the host",
  },
  {
    prefix: "connect",
    text: "tcp connect error: Network is unreachable (os error 101)",
    phase: "connecting",
    reason: "network is unreachable",
  },
  {
    prefix: "connect",
    text: "tcp connect error: Connection timed out (os error 110)",
    phase: "connecting",
    reason: "no response to the connection attempt",
  },
  {
    prefix: "connect",
    text: "tcp connect error: Connection reset by peer (os error 104)",
    phase: "connecting",
    reason: "connection reset by the server",
  },
  {
    prefix: "connect",
    text: "tcp open error: Too many open files (os error 24)",
    phase: "machine",
    reason: "too many open files on this machine",
  },
  {
    prefix: "connect",
    text: "dns error: failed to lookup address information: Name or service not known",
    phase: "resolving",
    reason: "name does not resolve",
  },
  {
    prefix: "connect",
    text: "dns error: failed to lookup address information: nodename nor servname provided, or not known",
    phase: "resolving",
    reason: "name does not resolve",
  },
  {
    prefix: "connect",
    text: "dns error: failed to lookup address information: Temporary failure in name resolution",
    phase: "resolving",
    reason: "no response from a name server",
  },
  {
    prefix: "connect",
    text: `${CERTIFICATE}UnknownIssuer`,
    phase: "TLS",
    reason: "certificate is not trusted (unknown issuer)",
  },
  {
    prefix: "connect",
    text: `${CERTIFICATE}Other(OtherError(CaUsedAsEndEntity))`,
    phase: "TLS",
    reason: "certificate is not trusted (self-signed or a CA certificate)",
  },
  { prefix: "connect", text: `${CERTIFICATE}Expired`, phase: "TLS", reason: "certificate expired" },
  {
    prefix: "connect",
    text: `${CERTIFICATE}certificate expired: verification time 1795227312 (UNIX), but certificate is not ` +
      "valid after 1795140912 (93600 seconds ago)",
    phase: "TLS",
    reason: "certificate expired 1 d 2 h ago",
  },
  {
    prefix: "connect",
    text:
      `${CERTIFICATE}certificate not valid yet: verification time 1 (UNIX), but certificate is not valid ` +
      "before 2 (1 seconds in future)",
    phase: "TLS",
    reason: "certificate is not valid yet",
  },
  {
    prefix: "connect",
    text: `${CERTIFICATE}certificate not valid for name "example.org"; certificate is only valid for ` +
      'DnsName("Connection refused")',
    phase: "TLS",
    reason: 'certificate is not valid for name "example.org"',
  },
  {
    prefix: "connect",
    text: `${CERTIFICATE}NotValidForName`,
    phase: "TLS",
    reason: "certificate is not valid for this name",
  },
  {
    prefix: "connect",
    text: `${CERTIFICATE}BadSignature`,
    phase: "TLS",
    reason: "certificate is not accepted (bad signature)",
  },
  {
    prefix: "connect",
    text: `${CERTIFICATE}Other(OtherError(UnsupportedCertVersion))`,
    phase: "TLS",
    reason: "certificate is not accepted (unsupported cert version)",
  },
  {
    prefix: "connect",
    text: "received corrupt message of type InvalidContentType",
    phase: "TLS",
    reason: "response is not TLS",
  },
  {
    prefix: "connect",
    text: "received fatal alert: HandshakeFailure",
    phase: "TLS",
    reason: "server refused the handshake (handshake failure)",
  },
  {
    prefix: "connect",
    text: "received corrupt message of type MessageTooShort",
    phase: "TLS",
    reason: "response is malformed TLS",
  },
  {
    prefix: "connect",
    text: "cannot decrypt peer's message",
    phase: "TLS",
    reason: "data of the server cannot be decrypted: it was altered in transit",
  },
  {
    prefix: "connect",
    text: "peer misbehaved: AttemptedDowngradeToTls12WhenTls13IsSupported",
    phase: "TLS",
    reason: "TLS protocol violation by the server (attempted downgrade to tls12 when tls13 is supported)",
  },
  {
    prefix: "connect",
    text: "received unexpected handshake message: got HelloRequest when expecting ServerHello",
    phase: "TLS",
    reason: "TLS protocol violation by the server (unexpected message)",
  },
  {
    prefix: "connect",
    text: "peer is incompatible: ServerDoesNotSupportTls12Or13",
    phase: "TLS",
    reason: "no TLS version or cipher in common",
  },
  {
    prefix: "connect",
    text: "tls handshake eof",
    phase: "TLS",
    reason: "connection closed during the handshake",
  },
  {
    prefix: "connect",
    text: "Connection reset by peer (os error 104)",
    phase: "TLS",
    reason: "connection reset by the server",
  },
  {
    prefix: "connect",
    text: "something quite new (os error 999)",
    phase: "connecting",
    reason: "something quite new",
  },
  {
    prefix: "send",
    text: "connection error: Connection reset by peer (os error 104)",
    phase: "head",
    reason: "connection reset by the server",
  },
  {
    prefix: "send",
    text: "connection error: connection reset",
    phase: "head",
    reason: "connection reset by the server",
  },
  {
    prefix: "send",
    text: "connection closed before message completed",
    phase: "head",
    reason: "connection closed before a response head",
  },
  {
    prefix: "send",
    text: "connection error: peer closed connection without sending TLS close_notify: " +
      "https://docs.rs/rustls/latest/rustls/manual/_03_howto/index.html#unexpected-eof",
    phase: "head",
    reason: "connection closed before a response head",
  },
  {
    prefix: "send",
    text: "connection error: received fatal alert: BadRecordMac",
    phase: "head",
    reason: "server ended the connection with a TLS alert (bad record mac)",
  },
  {
    prefix: "send",
    text: "connection error: received fatal alert: CertificateRequired",
    phase: "TLS",
    reason: "server requires a client certificate",
  },
  {
    prefix: "send",
    text: "connection error: received fatal alert: UnknownCA",
    phase: "TLS",
    reason: "server refused the handshake (unknown ca)",
  },
  {
    prefix: "send",
    text: "connection error: received corrupt message of type InvalidContentType",
    phase: "head",
    reason: "data of the server is no longer valid TLS",
  },
  {
    prefix: "send",
    text: "received unexpected message from connection",
    phase: "head",
    reason: "server sent unexpected data",
  },
  {
    prefix: "send",
    text: "connection error: received unexpected message: got Handshake when expecting ApplicationData",
    phase: "head",
    reason: "data of the server is no longer valid TLS",
  },
  {
    prefix: "send",
    text: "connection error: cannot decrypt peer's message",
    phase: "head",
    reason: "data of the server cannot be decrypted: it was altered in transit",
  },
  {
    prefix: "send",
    text: "unexpected transfer-encoding parsed",
    phase: "head",
    reason: "response has a transfer-encoding that its HTTP version does not have",
  },
  { prefix: "send", text: "invalid HTTP version parsed", phase: "head", reason: "response is not HTTP" },
  {
    prefix: "send",
    text: "invalid HTTP status-code parsed",
    phase: "head",
    reason: "response has no valid status",
  },
  {
    prefix: "send",
    text: "invalid HTTP header parsed",
    phase: "head",
    reason: "response has a malformed header",
  },
  {
    prefix: "send",
    text: "invalid content-length parsed",
    phase: "head",
    reason: "response has a malformed content-length",
  },
  { prefix: "send", text: "message head is too large", phase: "head", reason: "head is too large" },
  { prefix: "send", text: "something quite new", phase: "head", reason: "something quite new" },
  {
    prefix: "none",
    text: "error reading a body from connection",
    phase: "body",
    reason: "connection closed early or malformed body",
  },
  { prefix: "none", text: "unexpected end of file", phase: "body", reason: "compressed data is cut short" },
  { prefix: "none", text: "Invalid gzip header", phase: "body", reason: "compressed data is malformed" },
  {
    prefix: "none",
    text: "CRC computed does not match",
    phase: "body",
    reason: "compressed data is malformed",
  },
  {
    prefix: "none",
    text: "amount of bytes read does not match",
    phase: "body",
    reason: "compressed data is malformed",
  },
  { prefix: "none", text: "brotli error", phase: "body", reason: "compressed data is malformed" },
  { prefix: "none", text: "something quite new", phase: "body", reason: "something quite new" },
];

Deno.test("explainRequestError() classifies the messages of the runtime", async (t) => {
  for (const { prefix, text, phase, reason } of ROWS) {
    await t.step(`${prefix}: ${text}`, () => {
      const error = new TypeError(`${PREFIXES[prefix]}${text}`);
      assert.deepEqual(explainRequestError(error, TARGET), { phase, reason });
    });
  }
});

Deno.test("explainRequestError() shows nothing of the target", async (t) => {
  const rows = [
    {
      name: "a URL after an unknown prefix",
      text: `cannot ask ${TARGET}`,
      reason: "cannot ask the target",
    },
    {
      name: "a URL that contains words of errors",
      text: "error sending request for url (http://h/?UnknownIssuer): client error (Connect): new",
      reason: "new",
    },
    { name: "several lines", text: "one\n  two\x1b[31m", reason: "one two [31m" },
    { name: "a long text", text: "a".repeat(300), reason: `${"a".repeat(199)}…` },
    { name: "no text", text: "", reason: "the runtime gives no reason" },
  ];
  for (const { name, text, reason } of rows) {
    await t.step(name, () => assert.equal(explainRequestError(new Error(text), TARGET).reason, reason));
  }
});

Deno.test("explainRequestError() accepts any thrown value", () => {
  assert.deepEqual(explainRequestError("a text", TARGET), { phase: "body", reason: "a text" });
  assert.equal(explainRequestError(undefined, TARGET).reason, "undefined");
});

Deno.test("explainRequestError() names the missing permission", async (t) => {
  const rows = [
    { name: "as the runtime names it", says: 'Requires net access to "h:81", run again', grant: "h:81" },
    { name: "by the target", says: "Requires net access", grant: "example.org:8443" },
    { name: "a plain target", says: "", target: "http://example.org/a?b", grant: "example.org:80" },
    { name: "a target with TLS", says: "", target: "https://u:p@example.org/", grant: "example.org:443" },
    { name: "a target of IPv6", says: "", target: "http://[::1]/", grant: "[::1]:80" },
  ];
  for (const { name, says, target = TARGET, grant } of rows) {
    await t.step(name, () => {
      assert.deepEqual(explainRequestError(new Deno.errors.NotCapable(says), target), {
        phase: "permission",
        reason: `needs network access to "${grant}": grant --allow-net=${grant}`,
      });
    });
  }
});
