import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { httpRequestKind } from "../../src/checks/http_request.ts";
import { tcpConnectKind } from "../../src/checks/tcp_connect.ts";
import type { TcpConnectParameters } from "../../src/domain/generated/config.ts";
import { type Certificate, createAuthority, createCertificate } from "../support/certificates.ts";
import {
  observeAllInOwnProcess,
  observeConnection,
  observeInOwnProcess,
  tcpCheck,
} from "../support/connection_check.ts";
import type { CheckResult } from "../../src/domain/check.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { requiresTools } from "../../testing/tools.ts";
import { beSilent, drip, flood, leave, speakPlainly } from "../support/hostile_servers.ts";
import { collectPorts, startRefusing, startServer, type Visitor } from "../support/http_servers.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { httpCheck } from "../support/http_check.ts";
import { problemTexts } from "../support/observe_check.ts";
import { fieldsOf, linesOf, type Rows, testRows, testTable } from "../support/rows.ts";

const answering = (answer: string | Uint8Array) => async (visitor: Visitor) => {
  await visitor.readSome();
  await visitor.send(answer);
};

type Meeting = (visitor: Visitor, timeOut: () => void) => Promise<void>;
type Settings = Partial<TcpConnectParameters>;

const LONG = `"${"x".repeat(199)}…"`;
const UNKNOWN = 'unknown: cannot search all of the response for "220", only its first 64 KiB:';

const HANDSHAKE_TIMEOUT = "critical: timeout after 10 s during the TLS handshake with HOST";

/** Reads the first byte, and the time of the client is over. */
const hang: Meeting = async (visitor, timeOut) => {
  await visitor.readSome();
  timeOut();
  await visitor.untilGone();
};

/** The behavior of a server, and the expected result. */
const ROWS: Rows<[meet: Meeting, settings: Settings, expected: string]> = {
  "a listening server": [beSilent, {}, "ok: connected"],
  "a greeting": [speakPlainly, { expect: "220 " }, 'ok: connected, response contains "220 "'],
  "a response to the sent text": [
    answering("+PONG\r\n"),
    { send: "PING\r\n", expect: "+PONG" },
    'ok: connected, response contains "+PONG"',
  ],
  "a response in pieces, with letters of several bytes": [
    async (visitor) => {
      for (const byte of new TextEncoder().encode("xxgrüß")) {
        await visitor.send(new Uint8Array([byte]));
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      // Now it closes the connection: a check that has not found the text does not wait for more.
    },
    { expect: "grüß" },
    'ok: connected, response contains "grüß"',
  ],
  "another response": [
    answering("-ERR \x1b[31m\0 no\r\n"),
    { send: "PING\r\n", expect: "+PONG" },
    'critical: response does not contain "+PONG": "-ERR \\x1b[31m\\x00 no\\r\\n"',
  ],
  "no response": [
    leave,
    { expect: "220" },
    'critical: connection closed by the server without a response, expected "220"',
  ],
  "a flood of bytes that are no text": [flood, { expect: "220" }, `${UNKNOWN} "${"\ufffd".repeat(199)}…"`],
  "a response of exactly as much as is read": [
    answering("x".repeat(65_536)),
    { send: "P", expect: "220" },
    `critical: response does not contain "220": ${LONG}`,
  ],
  "a response of one byte more": [
    answering("x".repeat(65_537)),
    { send: "P", expect: "220" },
    `${UNKNOWN} ${LONG}`,
  ],
  "a server that reads little": [
    hang,
    { send: "x".repeat(50_000_000), expect: "+PONG" },
    "critical: timeout after 10 s while sending to HOST",
  ],
  "a handshake that is never answered": [hang, { tls: true }, HANDSHAKE_TIMEOUT],
  "the same with a fingerprint": [hang, { tls: true, fingerprint: "f0".repeat(32) }, HANDSHAKE_TIMEOUT],
  "TLS with a server that responds in clear text": [
    speakPlainly,
    { tls: true },
    "critical: TLS handshake with HOST failed: response is not TLS",
  ],
};

Deno.test("observeTcpConnect() compares the response with the expected one, and names the failed phase", async (t) => {
  await using ports = collectPorts();
  const observe = async (meet: Meeting, settings: Settings, readsMax = Infinity) => {
    const clock = createFakeClock();
    const timeOut = () => void clock.advance(10_000);
    await using server = startServer((visitor) => meet(visitor, timeOut));
    ports.add(server.port);
    const onRead = (count: number) => count === readsMax && timeOut();
    const check = tcpCheck({ port: server.port, ...settings }, 10_000);
    const { condition, output, metrics } = await observeConnection(check, { clock, onRead });
    assert.strictEqual(clock.timers, 0);
    assert.deepStrictEqual([metrics.connect_ms, metrics.total_ms], [
      0,
      /^timeout /.test(output) ? 10_000 : 0,
    ]);
    return `${condition}: ${output.replace(`127.0.0.1:${server.port}`, "HOST").replace(/"a+…"/, '"a…"')}`;
  };
  await testRows(t, ROWS, async ([meet, settings, expected]) => {
    assert.strictEqual(await observe(meet, settings), expected);
  });
  await t.step("a server that drips", async () => {
    assert.strictEqual(
      await observe(drip, { expect: "220" }, 3),
      'critical: timeout after 10 s while reading from HOST, expected "220"; it had sent "a…"',
    );
  });
});

// Deno 2.7 keeps a number, though no file descriptor, for an attempt to connect that could have been aborted and
// failed.
Deno.test("observeTcpConnect() distinguishes refused and unresolved connections", {
  sanitizeResources: false,
}, async (t) => {
  await t.step("refused", async () => {
    using refusing = await startRefusing();
    const { port } = refusing;
    const { condition, output, metrics } = await observeConnection(tcpCheck({ port }));
    assert.strictEqual(output, `connecting to 127.0.0.1:${port} failed: connection refused`);
    assert.strictEqual(condition, "critical");
    assert.deepStrictEqual(Object.keys(metrics), ["total_ms"]);
  });
  await t.step("unresolved", async () => {
    const { condition, output } = await observeConnection(tcpCheck({ host: "nowhere.invalid", port: 1 }));
    assert.strictEqual(condition, "critical");
    assert.match(
      output,
      /^resolving nowhere\.invalid failed: (name does not resolve|no response from a name server)$/,
    );
  });
});

Deno.test("observeTcpConnect() throws the signal's reason and disconnects when the run is aborted", async () => {
  for (const tls of [false, true]) {
    const end = new AbortController();
    await using server = startServer(async (visitor) => {
      end.abort(new Error("enough"));
      await visitor.untilGone();
    });
    const run = observeConnection(tcpCheck({ port: server.port, tls, expect: "x" }), { signal: end.signal });
    await assert.rejects(run, /^Error: enough$/);
    await server.untilLeft();
  }
});

Deno.test("observeTcpConnect() trusts the certificate with the expected fingerprint, and no other", async (t) => {
  const other = createCertificate();
  const self = createCertificate({ hosts: ["other.example"], addresses: [] });
  const expired = createCertificate({ fromDay: -9, toDay: -2 });
  const ok = /^ok: connected with TLS, response contains "220 "( \(the only address\))?$/;
  const rename = { host: "shop.example", connectTo: "127.0.0.1", serverName: "www.example" };
  const changed =
    /TLS handshake with \S+ failed: certificate has the fingerprint [\da-f]{64}, expected another/;
  type Row = readonly [served: Certificate, pinned: Certificate, Settings, expected: RegExp];
  const rows: Readonly<Record<string, Row>> = {
    "self-signed, for another name": [self, self, {}, ok],
    "another server and another name": [self, self, rename, ok],
    "another certificate": [self, other, {}, new RegExp(`^critical: ${changed.source}`)],
    "another one as a warning": [self, other, { asWarning: true }, new RegExp(`^warning: ${changed.source}`)],
    "expired": [expired, expired, {}, ok],
    "any, if it is not verified": [self, other, { verify: false }, ok],
  };
  const checkOf = (port: number, pinned: Certificate, parameters: Settings) => {
    const { fingerprint256: fingerprint } = new X509Certificate(pinned.cert);
    const pin = parameters.verify === undefined && { fingerprint };
    return tcpCheck({ port, tls: true, ...pin, expect: "220 ", ...parameters });
  };
  await testRows(t, rows, async ([served, pinned, parameters, expected]) => {
    await using server = startServer(speakPlainly, { certificate: served });
    const check = checkOf(server.port, pinned, parameters);
    assert.deepStrictEqual([...tcpConnectKind.errors?.(check) ?? []], []);
    const { condition, output } = await observeConnection(check);
    assert.match(`${condition}: ${output}`, expected);
  });
  const apart = async (): Promise<void> => {
    await using server = startServer(speakPlainly, { certificate: self });
    const check = checkOf(server.port, self, rename);
    const { net = [], env = [], ...rest } = await tcpConnectKind.requiredPermissions(
      check,
      createMemorySystem(),
    );
    assert.deepStrictEqual(rest, {});
    const grants = [`--allow-env=${[...env, "TEST_SEED"].join(",")}`, `--allow-net=${net.join(",")}`];
    const found = await observeInOwnProcess(check, { flags: ["--allow-read", "--allow-sys", ...grants] });
    assert.strictEqual(found.condition, "ok", found.output);
  };
  await t.step({ name: "with the required permissions alone", fn: apart, ...requiresTools("time") });
});

Deno.test("tcpConnectKind warns of contradictory settings", () => {
  const warned = (parameters: Settings) =>
    problemTexts(tcpConnectKind.warnings?.(tcpCheck({ port: 25, ...parameters })));
  assert.deepStrictEqual(warned({ send: "a", expect: "b" }), []);
  assert.deepStrictEqual(warned({ expect: "x".repeat(70_000) }), [
    "expect: is longer than the 64 KiB that are read of a response",
  ]);
  assert.deepStrictEqual(warned({ send: "" }), ["send: is empty, so nothing is sent"]);
  assert.deepStrictEqual(warned({ port: 465 }), ['port: 465 is usually a TLS port, but "tls" is not set']);
  assert.deepStrictEqual(warned({ port: 465, tls: true }), []);
  assert.deepStrictEqual(warned({ tls: true, verify: false }), [
    'verify: is false, so any server is accepted: prefer "fingerprint" or "ca_file"',
  ]);
});

Deno.test("tcp_connect and http_request connect to a Unix socket, with permissions for it alone", async (t) => {
  await using directory = await tempDirectory();
  const socket = `${directory.path}/a.sock`;
  const listener = Deno.listen({ transport: "unix", path: socket });
  const serving = (async () => {
    for await (const connection of listener) {
      await connection.read(new Uint8Array(4096));
      await connection.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n+PONG\r\n"));
      connection.close();
    }
  })();
  const checks = [
    [
      tcpCheck({ socket, send: "PING\r\n", expect: "+PONG" }),
      'ok: connected, response contains "+PONG"',
      await tcpConnectKind.requiredPermissions(tcpCheck({ socket }), createMemorySystem()),
    ],
    [
      httpCheck("http://docker/version", { bodyPart: "+PONG", request: { socket } }),
      "ok: status is 200",
      await httpRequestKind.requiredPermissions(
        httpCheck("http://docker/", { request: { socket } }),
        createMemorySystem(),
      ),
    ],
  ] as const;
  const source = fileURLToPath(new URL("../..", import.meta.url));
  const textOf = ({ condition, output }: CheckResult): string => `${condition}: ${output}`;
  for (const [check, fine, { read, write, net = [] }] of checks) {
    assert.strictEqual(textOf(await observeConnection(check)), fine);
    assert.deepStrictEqual({ read, write, net }, { read: [socket], write: [socket], net: [] });
  }
  for (const missing of ["nothing", "read", "write"] as const) {
    const apart = async (): Promise<void> => {
      const flags = (["read", "write"] as const).map((name) =>
        `--allow-${name}=${[source, ...name === missing ? [] : [socket]].join(",")}`
      );
      const found = await observeAllInOwnProcess(checks.map(([check]) => check), {
        flags: [...flags, "--allow-env", "--allow-sys"],
      });
      const lack = `unknown: needs ${missing} access to "${socket}": grant --allow-${missing}=${socket}`;
      const expected = checks.map(([, fine]) => missing === "nothing" ? fine : lack);
      assert.deepStrictEqual(found.map(textOf), expected);
    };
    const name = `without ${missing}`;
    await t.step({ name, fn: apart, ...missing === "nothing" ? {} : requiresTools("time") });
  }
  listener.close();
  await serving;
  const failed = `critical: connecting to ${socket} failed:`;
  for (const [check] of checks) {
    assert.strictEqual(textOf(await observeConnection(check)), `${failed} socket does not exist`);
  }
  await Deno.writeTextFile(socket, "");
  assert.strictEqual(textOf(await observeConnection(checks[0][0])), `${failed} connection refused`);
});

Deno.test("observeTcpConnect() connects to another host, and verifies the configured server name", async (t) => {
  const authority = createAuthority();
  const certificate = createCertificate({ authority, hosts: ["shop.example", "www.example"], addresses: [] });
  await using server = startServer((visitor) => visitor.untilGone(), { certificate });
  await using directory = await tempDirectory({
    "ca.pem": authority.cert,
    "other.pem": createAuthority().cert,
  });
  const caFile = `${directory.path}/ca.pem`;
  const { port } = server;
  const parameters = { host: "shop.example", connectTo: "127.0.0.1", port, tls: true, caFile };
  const table = `
                                            | ^ok: connected with TLS$
    host=127.0.0.1 serverName=www.example   | ^ok: connected with TLS$
    everyAddress=true                       | ^ok: connected with TLS \\(the only address\\)$
    host=other.example                      | ^critical: .*certificate is not valid for name "other.example"$
    caFile=${directory.path}/other.pem      | ^critical: .*certificate is not (trusted|accepted)
    caFile=/none.pem                        | ^unknown: ca_file "/none.pem" cannot be read: file does not exist$`;
  await testTable(t, table, async (changed, expected) => {
    const check = tcpCheck({ ...parameters, ...fieldsOf<Settings>(changed) });
    const { condition, output } = await observeConnection(check);
    assert.match(`${condition}: ${output}`, new RegExp(expected));
  });
  const check = tcpCheck(parameters);
  assert.deepStrictEqual(await tcpConnectKind.requiredPermissions(check, createMemorySystem()), {
    net: [`127.0.0.1:${port}`],
    env: ["DENO_TLS_CA_STORE"],
    read: [caFile],
  });
});

Deno.test("tcpConnectKind rejects contradictory parameters", () => {
  const digits = "f0".repeat(32);
  const rows = `
    host=a port=1           |
    socket=/a               |
    host=a                  | : expected "host" and "port", or "socket"
    host=a socket=/a        | host: "host" cannot be used with "socket": remove one of them
    socket=/a tls=true      | tls: "tls" cannot be used with "socket": remove one of them
    host=a port=1 caFile=/a | ca_file: "ca_file" requires "tls": true
    host=a port=1 verify=false | verify: "verify" requires "tls": true
    host=a port=1 fingerprint=${digits} | fingerprint: "fingerprint" requires "tls": true
    socket=/a fingerprint=${digits} | fingerprint: "fingerprint" cannot be used with "socket": remove one of them
    host=a port=1 tls=true fingerprint=${digits} caFile=/a | \
      fingerprint: "fingerprint" cannot be used with "ca_file": remove one of them
    host=a port=1 tls=true fingerprint=${digits}f0 | \
      fingerprint: is not a SHA-256 fingerprint, expected 64 hexadecimal digits
    host=a port=1 tls=true fingerprint=${digits} send=PING | \
      send: "send" cannot be used with "fingerprint": a server with a copy of the certificate could read it`;
  for (const [text = "", error = ""] of linesOf(rows)) {
    const defaults = { everyAddress: false, tls: false, asWarning: false };
    const parameters = { ...defaults, ...fieldsOf<Settings>(text) };
    const found = problemTexts(tcpConnectKind.errors?.({ ...tcpCheck({}), parameters }));
    assert.deepStrictEqual(found, error === "" ? [] : [error]);
  }
});
