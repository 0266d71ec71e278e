import { createRealClock } from "../../../testing/real_clock.ts";
import assert from "node:assert/strict";
import { createRequests } from "../../../src/system/http/requests.ts";
import { until } from "../../life/in_time.ts";
import { createCertificate } from "../../support/certificates.ts";
import { readText } from "../../support/bodies.ts";
import { response, startAnswering, startServer } from "../../support/http_servers.ts";
import { testRows } from "../../support/rows.ts";
import { explainRequestError } from "../../../src/system/network_failure.ts";

const NEVER = new AbortController().signal;

const newRequests = () => createRequests({ clock: createRealClock() });

function get(target: string) {
  return { target, method: "GET", headers: {} };
}

/** The runtime's sanitizer of leaked resources verifies that every client is closed. */
Deno.test("createRequests() uses a new connection for each request", async () => {
  await using server = startServer(async (visitor) => {
    // It would respond to more than one request.
    while (true) {
      await visitor.readHead();
      await visitor.send(response(200, {}, "body"));
    }
  });
  const requests = newRequests();
  // As long as it is open, the others could use its client's connections.
  const first = await requests.send(get(`${server.origin}/`), NEVER);
  for (const _ of [2, 3]) {
    const { status, read, close } = await requests.send(get(`${server.origin}/`), NEVER);
    assert.equal(status, 200);
    assert.equal(await readText({ read }), "body");
    await close();
  }
  await first.close();
  assert.equal(server.visits, 3);
  await server.untilLeft();
});

Deno.test("createRequests() gives each response its own bytes, whatever was read before", async () => {
  const long = (letter: string): string => letter.repeat(100_000);
  await using server = startServer(async (visitor) => {
    const head = await visitor.readHead();
    await visitor.send(response(200, {}, long(/\/(\w)/.exec(head)?.[1] ?? "")));
  });
  const requests = newRequests();
  const texts = await Promise.all([..."abcdefghij".repeat(3)].map(async (letter, index) => {
    const given = await requests.send(get(`${server.origin}/${letter}`), NEVER);
    // Some are closed amid the body, and more than once.
    const text = index % 3 === 0 ? long(letter) : await readText(given);
    await given.close();
    await given.close();
    return text === long(letter);
  }));
  assert.deepEqual(texts, Array(30).fill(true));
  await server.untilLeft();
});

Deno.test("createRequests() aborts one of two requests without the other", async () => {
  const bothMayGoOn = Promise.withResolvers<void>();
  await using server = startServer(async (visitor) => {
    await visitor.readHead();
    await visitor.send("HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nhalf");
    await bothMayGoOn.promise;
    await visitor.send("full");
  });
  const requests = newRequests();
  const first = await requests.send(get(`${server.origin}/`), NEVER);
  const second = await requests.send(get(`${server.origin}/`), NEVER);
  await first.close();
  bothMayGoOn.resolve();
  assert.equal(await readText(second), "halffull");
  await second.close();
  await server.untilLeft();
});

Deno.test("createRequests() closes the connection when the response is closed", async (t) => {
  const rows = {
    "an unread body": { head: "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nab" },
    "an unread body until the end": { head: "HTTP/1.1 200 OK\r\n\r\nab" },
    "no body": { head: "HTTP/1.1 204 No Content\r\n\r\n" },
    "an upgrade that was not requested": {
      head: "HTTP/1.1 101 Up\r\nconnection: upgrade\r\nupgrade: a\r\n\r\n",
    },
    "a redirect": { head: "HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 10\r\n\r\nab" },
  };
  await testRows(t, rows, async ({ head }) => {
    let gone = false;
    await using server = startServer(async (visitor) => {
      await visitor.readHead();
      await visitor.send(head);
      await visitor.untilGone();
      gone = true;
    });
    const incoming = await newRequests().send(get(`${server.origin}/`), NEVER);
    await incoming.close();
    await incoming.close();
    await server.untilLeft();
    await until("the end of the connection", () => gone);
  });
});

Deno.test("createRequests() throws the reason of an abort", async (t) => {
  const reason = new Error("enough");
  await t.step("before the request", async () => {
    await using server = startAnswering(response(200));
    const sending = newRequests().send(get(`${server.origin}/`), AbortSignal.abort(reason));
    await assert.rejects(sending, reason);
    assert.equal(server.visits, 0);
  });
  for (const scheme of ["http", "https"]) {
    await t.step(`before the head, over ${scheme}`, async () => {
      const end = new AbortController();
      await using server = startServer(async (visitor) => {
        await visitor.readSome();
        end.abort(reason);
        await visitor.untilGone();
      });
      const sending = newRequests().send(
        get(`${scheme}://127.0.0.1:${server.port}/`),
        end.signal,
      );
      await assert.rejects(sending, reason);
      await server.untilLeft();
    });
  }
  await t.step("amid the body", async () => {
    const end = new AbortController();
    await using server = startServer(async (visitor) => {
      await visitor.readHead();
      await visitor.send("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nab");
      await visitor.untilGone();
    });
    const { read, close } = await newRequests().send(get(`${server.origin}/`), end.signal);
    const reading = readText({ read });
    end.abort(reason);
    await assert.rejects(reading, reason);
    await close();
    await server.untilLeft();
  });
});

Deno.test("createRequests() explains thrown errors", async () => {
  const requests = newRequests();
  const explain = async (target: string) => {
    try {
      await (await requests.send(get(target), NEVER)).close();
    } catch (error) {
      return requests.explain(error, target);
    }
    throw new Error("The request did not fail");
  };
  assert.deepEqual(await explain("https://nonexistent.invalid/"), {
    phase: "resolving",
    reason: "name does not resolve",
  });
  await using server = startServer(() => {}, { certificate: createCertificate({ isAuthority: true }) });
  assert.deepEqual(await explain(`${server.origin}/`), {
    phase: "TLS",
    reason: "certificate is not trusted (self-signed or a CA certificate)",
  });
});

const TARGET = "https://user:password@example.org:8443/p(a)th?token=secret";

/** The prefixes of the runtime before the reason. */
const PREFIXES = {
  connect:
    "error sending request for url (https://example.org:8443/p(a)th?token=secret): client error (Connect): ",
  send: "error sending request from 10.0.0.1:41000 for https://example.org:8443/p(a)th?token=secret " +
    "(10.0.0.2:8443): client error (SendRequest): ",
  none: "",
} as const;

/** By the prefix of the runtime and its text: phase and reason. */
const ROWS: Readonly<Record<keyof typeof PREFIXES, Readonly<Record<string, string>>>> = {
  connect: {
    "tcp connect error: Connection refused (os error 111)": "connecting: connection refused",
    "tcp connect error: No connection could be made because the target machine actively refused it. (os error 10061)":
      "connecting: connection refused",
    "tcp connect error: No route to host (os error 113)": "connecting: no route to the host",
    "tcp connect error: Network is unreachable (os error 101)": "connecting: network is unreachable",
    "tcp connect error: Connection timed out (os error 110)":
      "connecting: no response to the connection attempt",
    "tcp connect error: Connection reset by peer (os error 104)":
      "connecting: connection reset by the server",
    "tcp open error: Too many open files (os error 24)": "machine: too many open files on this machine",
    "dns error: failed to lookup address information: Name or service not known":
      "resolving: name does not resolve",
    "dns error: failed to lookup address information: nodename nor servname provided, or not known":
      "resolving: name does not resolve",
    "dns error: failed to lookup address information: Temporary failure in name resolution":
      "resolving: no response from a name server",
    "invalid peer certificate: UnknownIssuer": "TLS: certificate is not trusted (unknown issuer)",
    "invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))":
      "TLS: certificate is not trusted (self-signed or a CA certificate)",
    "invalid peer certificate: Expired": "TLS: certificate expired",
    "invalid peer certificate: certificate expired: verification time 1795227312 (UNIX), but certificate is not valid after 1795140912 (93600 seconds ago)":
      "TLS: certificate expired 1 d 2 h ago",
    "invalid peer certificate: certificate not valid yet: verification time 1 (UNIX), but certificate is not valid before 2 (1 seconds in future)":
      "TLS: certificate is not valid yet",
    'invalid peer certificate: certificate not valid for name "example.org"; certificate is only valid for DnsName("Connection refused")':
      'TLS: certificate is not valid for name "example.org"',
    "invalid peer certificate: NotValidForName": "TLS: certificate is not valid for this name",
    "invalid peer certificate: BadSignature": "TLS: certificate is not accepted (bad signature)",
    "invalid peer certificate: Other(OtherError(UnsupportedCertVersion))":
      "TLS: certificate is not accepted (unsupported cert version)",
    "received corrupt message of type InvalidContentType": "TLS: response is not TLS",
    "received fatal alert: HandshakeFailure": "TLS: server refused the handshake (handshake failure)",
    "received corrupt message of type MessageTooShort": "TLS: response is malformed TLS",
    "cannot decrypt peer's message": "TLS: data of the server cannot be decrypted: it was altered in transit",
    "peer misbehaved: AttemptedDowngradeToTls12WhenTls13IsSupported":
      "TLS: TLS protocol violation by the server (attempted downgrade to tls12 when tls13 is supported)",
    "received unexpected handshake message: got HelloRequest when expecting ServerHello":
      "TLS: TLS protocol violation by the server (unexpected message)",
    "peer is incompatible: ServerDoesNotSupportTls12Or13": "TLS: no TLS version or cipher in common",
    "tls handshake eof": "TLS: connection closed during the handshake",
    "Connection reset by peer (os error 104)": "TLS: connection reset by the server",
    "something quite new (os error 999)": "connecting: something quite new",
  },
  send: {
    "connection error: Connection reset by peer (os error 104)": "head: connection reset by the server",
    "connection error: connection reset": "head: connection reset by the server",
    "connection closed before message completed": "head: connection closed before a response head",
    "connection error: peer closed connection without sending TLS close_notify: https://docs.rs/rustls/latest/rustls/manual/_03_howto/index.html#unexpected-eof":
      "head: connection closed before a response head",
    "connection error: received fatal alert: BadRecordMac":
      "head: server ended the connection with a TLS alert (bad record mac)",
    "connection error: received fatal alert: CertificateRequired":
      "TLS: server requires a client certificate",
    "connection error: received fatal alert: UnknownCA": "TLS: server refused the handshake (unknown ca)",
    "connection error: received corrupt message of type InvalidContentType":
      "head: data of the server is no longer valid TLS",
    "received unexpected message from connection": "head: server sent unexpected data",
    "connection error: received unexpected message: got Handshake when expecting ApplicationData":
      "head: data of the server is no longer valid TLS",
    "connection error: cannot decrypt peer's message":
      "head: data of the server cannot be decrypted: it was altered in transit",
    "unexpected transfer-encoding parsed":
      "head: response has a transfer-encoding that its HTTP version does not have",
    "invalid HTTP version parsed": "head: response is not HTTP",
    "invalid HTTP status-code parsed": "head: response has no valid status",
    "invalid HTTP header parsed": "head: response has a malformed header",
    "invalid content-length parsed": "head: response has a malformed content-length",
    "message head is too large": "head: head is too large",
    "something quite new": "head: something quite new",
  },
  none: {
    "error reading a body from connection": "body: connection closed early or malformed body",
    "unexpected end of file": "body: compressed data is cut short",
    "Invalid gzip header": "body: compressed data is malformed",
    "CRC computed does not match": "body: compressed data is malformed",
    "amount of bytes read does not match": "body: compressed data is malformed",
    "brotli error": "body: compressed data is malformed",
    "something quite new": "body: something quite new",
  },
};

Deno.test("explainRequestError() classifies the messages of the runtime", async (t) => {
  for (const [name, prefix] of Object.entries(PREFIXES)) {
    for (const [text, expected] of Object.entries(ROWS[name as keyof typeof PREFIXES])) {
      await t.step(`${name}: ${text}`, () => {
        const { phase, reason } = explainRequestError(new TypeError(`${prefix}${text}`), TARGET);
        assert.equal(`${phase}: ${reason}`, expected);
      });
    }
  }
});

Deno.test("explainRequestError() shows nothing of the target", async (t) => {
  const rows = [
    { name: "a URL after an unknown prefix", text: `cannot ask ${TARGET}`, reason: "cannot ask the target" },
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
  const rows: Readonly<Record<string, { says: string; target?: string; grant: string }>> = {
    "as the runtime names it": { says: 'Requires net access to "h:81", run again', grant: "h:81" },
    "by the target": { says: "Requires net access", grant: "example.org:8443" },
    "a plain target": { says: "", target: "http://example.org/a?b", grant: "example.org:80" },
    "a target with TLS": { says: "", target: "https://u:p@example.org/", grant: "example.org:443" },
    "a target of IPv6": { says: "", target: "http://[::1]/", grant: "[::1]:80" },
  };
  await testRows(t, rows, ({ says, target = TARGET, grant }) => {
    assert.deepEqual(explainRequestError(new Deno.errors.NotCapable(says), target), {
      phase: "permission",
      reason: `needs network access to "${grant}": grant --allow-net=${grant}`,
    });
  });
});
