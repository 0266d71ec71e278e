import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { tcpConnectKind } from "../../src/checks/tcp_connect.ts";
import type { TcpConnectParameters } from "../../src/domain/check.ts";
import { concurrentSteps } from "../support/concurrent_tests.ts";
import { type Certificate, createAuthority, createCertificate } from "../support/certificates.ts";
import { observeConnection, observeInOwnProcess, tcpCheck } from "../support/connection_check.ts";
import {
  beSilent,
  drip,
  flood,
  leave,
  reset,
  speakGarbage,
  speakPlainly,
} from "../support/hostile_servers.ts";
import { startRefusing, startServer, type Visitor } from "../support/http_servers.ts";

/** The behavior of a server and the expected result. */
interface Row {
  readonly name: string;
  readonly meet: (visitor: Visitor) => Promise<void>;
  readonly parameters?: Partial<TcpConnectParameters>;
  readonly timeoutMs?: number;
  readonly condition: string;
  readonly output: RegExp;
}

const answering = (answer: string | Uint8Array) => async (visitor: Visitor) => {
  await visitor.readSome();
  await visitor.send(answer);
};

const ROWS: readonly Row[] = [
  { name: "a listening server", meet: beSilent, condition: "ok", output: /^connected$/ },
  {
    name: "a greeting",
    meet: speakPlainly,
    parameters: { expect: "220 " },
    condition: "ok",
    output: /^connected, response contains "220 "$/,
  },
  {
    name: "a response to the sent text",
    meet: answering("+PONG\r\n"),
    parameters: { send: "PING\r\n", expect: "+PONG" },
    condition: "ok",
    output: /^connected, response contains "\+PONG"$/,
  },
  {
    name: "a response in pieces, with letters of several bytes",
    meet: async (visitor) => {
      for (const byte of new TextEncoder().encode("xxgrüß")) {
        await visitor.send(new Uint8Array([byte]));
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      await visitor.untilGone();
    },
    parameters: { expect: "grüß" },
    condition: "ok",
    output: /^connected, response contains "grüß"$/,
  },
  {
    name: "another response",
    meet: answering("-ERR \x1b[31m\0 no\r\n"),
    parameters: { send: "PING\r\n", expect: "+PONG" },
    condition: "critical",
    output: /^response does not contain "\+PONG": "-ERR \\x1b\[31m\\x00 no\\r\\n"$/,
  },
  {
    name: "another response as a warning",
    meet: answering("no"),
    parameters: { send: "P", expect: "+PONG", asWarning: true },
    condition: "warning",
    output: /^response does not contain "\+PONG": "no"$/,
  },
  {
    name: "no response",
    meet: leave,
    parameters: { expect: "220" },
    condition: "critical",
    output: /^connection closed by the server without a response, expected "220"$/,
  },
  {
    name: "a silent server",
    meet: beSilent,
    parameters: { expect: "220" },
    timeoutMs: 100,
    condition: "critical",
    output: /^timeout after 0\.1 s while reading from \S+, expected "220"$/,
  },
  {
    name: "a server that drips",
    meet: drip,
    parameters: { expect: "220" },
    timeoutMs: 200,
    condition: "critical",
    output: /^timeout after 0\.2 s while reading from \S+, expected "220"; it had sent "a+…"$/,
  },
  {
    name: "a flood of bytes that are no text",
    meet: flood,
    parameters: { expect: "220" },
    condition: "critical",
    output: /^response does not contain "220" in its first 64 KiB: "\ufffd{199}…"$/,
  },
  {
    name: "a reset",
    meet: reset,
    parameters: { send: "x".repeat(5_000_000), expect: "+PONG" },
    condition: "critical",
    output: /^(sending to|reading from) \S+ failed: connection (reset|closed) by the server$/,
  },
  {
    name: "a server that reads little",
    meet: async (visitor) => {
      await visitor.readSome();
      await new Promise((resolve) => setTimeout(resolve, 300));
    },
    parameters: { send: "x".repeat(50_000_000), expect: "+PONG" },
    timeoutMs: 200,
    condition: "critical",
    output: /^timeout after 0\.2 s while sending to \S+$/,
  },
  {
    name: "TLS with a silent server",
    meet: beSilent,
    parameters: { tls: true },
    timeoutMs: 200,
    condition: "critical",
    output: /^timeout after 0\.2 s during the TLS handshake with \S+$/,
  },
  {
    name: "TLS with a server that drips",
    meet: drip,
    parameters: { tls: true },
    timeoutMs: 400,
    condition: "critical",
    output:
      /^(TLS handshake with \S+ failed: response is not TLS|timeout after 0\.4 s during the TLS handshake with \S+)$/,
  },
  {
    name: "TLS with a server that disconnects",
    meet: leave,
    parameters: { tls: true },
    condition: "critical",
    output: /^TLS handshake with \S+ failed: connection (closed during the handshake|reset by the server)$/,
  },
  {
    name: "TLS with a server that sends garbage",
    meet: speakGarbage,
    parameters: { tls: true },
    condition: "critical",
    output: /^TLS handshake with \S+ failed: \S/,
  },
  {
    name: "TLS with a server that responds in clear text",
    meet: speakPlainly,
    parameters: { tls: true },
    condition: "critical",
    output: /^TLS handshake with \S+ failed: response is not TLS$/,
  },
];

Deno.test("observeTcpConnect() compares the response with the expected one, and names the failed phase", async (t) => {
  for (const { name, meet, parameters, timeoutMs, condition, output } of ROWS) {
    await t.step(name, async () => {
      await using server = startServer(meet);
      const check = tcpCheck({ port: server.port, ...parameters }, timeoutMs);
      const found = await observeConnection(check);
      assert.match(found.output, output);
      assert.strictEqual(found.condition, condition);
      const { connect_ms: connectMs = -1, total_ms: totalMs = -1 } = found.metrics;
      assert(connectMs >= 0 && totalMs >= connectMs, JSON.stringify(found.metrics));
      await server.untilLeft();
    });
  }
});

// Deno 2.7 keeps a number, though no file descriptor, for an attempt to connect that could have been aborted and
// failed.
Deno.test("observeTcpConnect() distinguishes refused, unresolved and forbidden connections", {
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
  await t.step("forbidden", async () => {
    const { results: [found] } = await observeInOwnProcess(tcpCheck({ port: 7 }), {
      flags: ["--allow-read", "--allow-env", "--allow-sys", "--allow-net=127.0.0.1:8"],
    });
    assert.strictEqual(found?.condition, "unknown");
    assert.strictEqual(
      found.output,
      'needs network access to "127.0.0.1:7": grant --allow-net=127.0.0.1:7',
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

Deno.test("observeTcpConnect() verifies the certificate with TLS", async (t) => {
  const authority = createAuthority();
  const file = await Deno.makeTempFile();
  await Deno.writeTextFile(file, authority.cert);
  const rows = [
    {
      name: "valid",
      facts: { authority },
      condition: "ok",
      output: /^connected with TLS, response contains "pong"$/,
    },
    {
      name: "expired",
      facts: { authority, fromDay: -9, toDay: -2 },
      condition: "critical",
      output: /^TLS handshake with \S+ failed: certificate expired 2 d( \d+ s)? ago$/,
    },
    {
      name: "another name",
      facts: { authority, hosts: ["other.example"] },
      condition: "critical",
      output: /^TLS handshake with \S+ failed: certificate is not valid for name "localhost"$/,
    },
    {
      name: "self-signed",
      facts: {},
      condition: "critical",
      output: /^TLS handshake with \S+ failed: certificate is not trusted/,
    },
  ];
  for (const { name, facts, condition, output } of rows) {
    await t.step(name, async () => {
      await using server = startServer(answering("pong"), { certificate: createCertificate(facts) });
      const check = tcpCheck({
        host: "localhost",
        port: server.port,
        tls: true,
        send: "ping",
        expect: "pong",
      });
      const { results: [found] } = await observeInOwnProcess(check, {
        flags: ["--allow-read", "--allow-env", "--allow-sys", `--allow-net=localhost:${server.port}`],
        environment: { DENO_CERT: file },
      });
      assert.match(found?.output ?? "", output);
      assert.strictEqual(found?.condition, condition);
    });
  }
  await Deno.remove(file);
});

Deno.test("observeTcpConnect() trusts the certificate with the expected fingerprint, and no other", async (t) => {
  const other = createCertificate();
  const self = createCertificate({ hosts: ["other.example"], addresses: [] });
  const expired = createCertificate({ fromDay: -9, toDay: -2 });
  const authority = createAuthority();
  const OK = /^connected with TLS, response contains "220 "( \(the only address\))?$/;
  const rows: readonly {
    readonly name: string;
    readonly served: Certificate;
    readonly pinned?: Certificate;
    readonly parameters?: Partial<TcpConnectParameters>;
    readonly condition: string;
    readonly output: RegExp;
  }[] = [
    { name: "self-signed, for another name", served: self, condition: "ok", output: OK },
    {
      name: "self-signed CA",
      served: createCertificate({ isAuthority: true }),
      condition: "ok",
      output: OK,
    },
    { name: "unknown issuer", served: createCertificate({ authority }), condition: "ok", output: OK },
    { name: "every address", served: self, parameters: { everyAddress: true }, condition: "ok", output: OK },
    {
      name: "another server and another name",
      served: self,
      parameters: { host: "shop.example", connectTo: "127.0.0.1", serverName: "www.example" },
      condition: "ok",
      output: OK,
    },
    {
      name: "another certificate",
      served: self,
      pinned: other,
      condition: "critical",
      output: /^TLS handshake with \S+ failed: certificate has the fingerprint [\da-f]{64}, expected another/,
    },
    {
      name: "another certificate as a warning",
      served: self,
      pinned: other,
      parameters: { asWarning: true },
      condition: "warning",
      output: /^TLS handshake with \S+ failed: certificate has the fingerprint /,
    },
    {
      name: "expired",
      served: expired,
      condition: "critical",
      output: /^TLS handshake with \S+ failed: certificate expired 2 d/,
    },
  ];
  for (const { name, served, pinned = served, parameters, condition, output } of rows) {
    await t.step(name, async () => {
      await using server = startServer(speakPlainly, { certificate: served });
      const { fingerprint256: fingerprint } = new X509Certificate(pinned.cert);
      const check = tcpCheck({
        port: server.port,
        tls: true,
        fingerprint,
        expect: "220 ",
        ...parameters,
      });
      assert.deepStrictEqual([...tcpConnectKind.errors?.(check) ?? []], []);
      const { net = [], env = [], ...rest } = await tcpConnectKind.requiredPermissions(
        check,
        createMemorySystem(),
      );
      assert.deepStrictEqual(rest, {});
      const { results: [found] } = await observeInOwnProcess(check, {
        flags: [
          "--allow-read",
          "--allow-sys",
          `--allow-env=${env.join(",")}`,
          `--allow-net=${net.join(",")}`,
        ],
      });
      assert.match(found?.output ?? "", output);
      assert.strictEqual(found?.condition, condition);
    });
  }
});

Deno.test("observeTcpConnect() leaks no file descriptor", async (t) => {
  await using steps = concurrentSteps(t);
  const certificate = createCertificate();
  const { fingerprint256: fingerprint } = new X509Certificate(certificate.cert);
  const rows: readonly (Pick<Row, "name" | "meet" | "parameters"> & {
    readonly options?: { readonly certificate: Certificate };
  })[] = [
    { name: "silent", meet: beSilent, parameters: { expect: "x" } },
    { name: "flooding", meet: flood, parameters: { expect: "x" } },
    { name: "silent with TLS", meet: beSilent, parameters: { tls: true } },
    { name: "dripping with TLS", meet: drip, parameters: { tls: true } },
    { name: "clear text with TLS", meet: speakPlainly, parameters: { tls: true } },
    { name: "silent with a fingerprint", meet: beSilent, parameters: { tls: true, fingerprint } },
    {
      name: "flooding with a fingerprint",
      meet: flood,
      parameters: { tls: true, fingerprint, expect: "x" },
      options: { certificate },
    },
  ];
  for (const { name, meet, parameters, options } of rows) {
    steps.add(name, async () => {
      await using server = startServer(meet, options);
      const check = tcpCheck({ port: server.port, ...parameters }, 100);
      const run = { times: 10, countsDescriptors: Deno.build.os === "linux" };
      // The runtime opens up to two for itself, at any time; one for each run would be many more.
      assert((await observeInOwnProcess(check, run)).descriptorGrowth <= 2);
    });
  }
});

Deno.test("tcpConnectKind warns of contradictory settings", () => {
  const warned = (parameters: Partial<TcpConnectParameters>): readonly string[] =>
    tcpConnectKind.warnings(tcpCheck({ port: 25, ...parameters })).map(({ path, message }) =>
      `${path.join(".")}: ${message}`
    );
  assert.deepStrictEqual(warned({ send: "a", expect: "b" }), []);
  assert.deepStrictEqual(warned({ expect: "x".repeat(70_000) }), [
    "expect: is longer than the 64 KiB that are read of a response",
  ]);
  assert.deepStrictEqual(warned({ send: "" }), ["send: is empty, so nothing is sent"]);
  assert.deepStrictEqual(warned({ port: 465 }), ['port: 465 is usually a TLS port, but "tls" is not set']);
  assert.deepStrictEqual(warned({ port: 465, tls: true }), []);
});

Deno.test("tcpConnectKind requires its host and port alone", () => {
  assert.deepStrictEqual(
    tcpConnectKind.requiredPermissions(tcpCheck({ host: "::1", port: 25 }), createMemorySystem()),
    {
      net: ["[::1]:25"],
    },
  );
});

Deno.test("observeTcpConnect() connects to a Unix socket, with permissions for it alone", async (t) => {
  const directory = await Deno.makeTempDir();
  const socket = `${directory}/redis.sock`;
  const listener = Deno.listen({ transport: "unix", path: socket });
  const serving = (async () => {
    for await (const connection of listener) {
      await connection.read(new Uint8Array(16));
      await connection.write(new TextEncoder().encode("+PONG\r\n"));
      connection.close();
    }
  })();
  const check = tcpCheck({ socket, send: "PING\r\n", expect: "+PONG" });
  try {
    const { condition, output } = await observeConnection(check);
    assert.deepStrictEqual([condition, output], ["ok", 'connected, response contains "+PONG"']);
    const required = await tcpConnectKind.requiredPermissions(check, createMemorySystem());
    assert.deepStrictEqual(required, { read: [socket], write: [socket] });
    const source = new URL("../..", import.meta.url).pathname;
    const grants = { read: [source, socket], write: [socket] };
    for (const missing of ["", "read", "write"] as const) {
      await t.step(missing === "" ? "all" : `without --allow-${missing}`, async () => {
        const flags = Object.entries(grants).map(([name, paths]) =>
          `--allow-${name}=${paths.filter((path) => name !== missing || path !== socket).join(",") || source}`
        );
        const { results: [found] } = await observeInOwnProcess(check, {
          flags: [...flags, "--allow-env", "--allow-sys"],
        });
        const expected = missing === ""
          ? ["ok", 'connected, response contains "+PONG"']
          : ["unknown", `needs ${missing} access to "${socket}": grant --allow-${missing}=${socket}`];
        assert.deepStrictEqual([found?.condition, found?.output], expected);
      });
    }
  } finally {
    listener.close();
    await serving;
  }
  const refused = await observeConnection(check);
  assert.deepStrictEqual([refused.condition, refused.output], [
    "critical",
    `connecting to ${socket} failed: socket does not exist`,
  ]);
  await Deno.writeTextFile(socket, "");
  assert.match((await observeConnection(check)).output, / failed: connection refused$/);
  await Deno.remove(directory, { recursive: true });
});

Deno.test("observeTcpConnect() connects to another host, and verifies the configured server name", async (t) => {
  const authority = createAuthority();
  const certificate = createCertificate({ authority, hosts: ["shop.example", "www.example"], addresses: [] });
  await using server = startServer((visitor) => visitor.untilGone(), { certificate });
  const caFile = await Deno.makeTempFile();
  await Deno.writeTextFile(caFile, authority.cert);
  const { port } = server;
  const parameters = { host: "shop.example", connectTo: "127.0.0.1", port, tls: true, caFile };
  const rows: readonly (readonly [Partial<TcpConnectParameters>, condition: string, output: RegExp])[] = [
    [{}, "ok", /^connected with TLS$/],
    [{ host: "127.0.0.1", serverName: "www.example" }, "ok", /^connected with TLS$/],
    [{ everyAddress: true }, "ok", /^connected with TLS \(the only address\)$/],
    [{ host: "other.example" }, "critical", /certificate is not valid for name "other\.example"$/],
    [{ caFile: "/none.pem" }, "unknown", /^ca_file "\/none\.pem" cannot be read: file does not exist$/],
  ];
  for (const [changed, condition, output] of rows) {
    await t.step(JSON.stringify(changed), async () => {
      const found = await observeConnection(tcpCheck({ ...parameters, ...changed }));
      assert.match(found.output, output);
      assert.strictEqual(found.condition, condition);
    });
  }
  const check = tcpCheck(parameters);
  assert.deepStrictEqual(await tcpConnectKind.requiredPermissions(check, createMemorySystem()), {
    net: [`127.0.0.1:${port}`],
    env: ["DENO_TLS_CA_STORE"],
    read: [caFile],
  });
  await Deno.remove(caFile);
});

Deno.test("tcpConnectKind rejects contradictory parameters", () => {
  const errorsOf = (parameters: TcpConnectParameters): readonly string[] =>
    (tcpConnectKind.errors?.({ ...tcpCheck({}), parameters }) ?? [])
      .map(({ path, message }) => `${path.join(".")}: ${message}`);
  const plain = { everyAddress: false, tls: false, asWarning: false };
  assert.deepStrictEqual(errorsOf({ ...plain, host: "a", port: 1 }), []);
  assert.deepStrictEqual(errorsOf({ ...plain, socket: "/a" }), []);
  assert.deepStrictEqual(errorsOf({ ...plain, host: "a" }), [': expected "host" and "port", or "socket"']);
  assert.deepStrictEqual(errorsOf({ ...plain, host: "a", socket: "/a", tls: true }), [
    'host: "host" cannot be used with "socket": remove one of them',
    'tls: "tls" cannot be used with "socket": remove one of them',
  ]);
  assert.deepStrictEqual(errorsOf({ ...plain, host: "a", port: 1, caFile: "/a" }), [
    'ca_file: "ca_file" requires "tls": true',
  ]);
  const fingerprint = "f0".repeat(32);
  assert.deepStrictEqual(errorsOf({ ...plain, host: "a", port: 1, fingerprint }), [
    'fingerprint: "fingerprint" requires "tls": true',
  ]);
  assert.deepStrictEqual(errorsOf({ ...plain, socket: "/a", fingerprint }), [
    'fingerprint: "fingerprint" cannot be used with "socket": remove one of them',
  ]);
  const tls = { ...plain, host: "a", port: 1, tls: true };
  assert.deepStrictEqual(errorsOf({ ...tls, fingerprint, caFile: "/a" }), [
    'fingerprint: "fingerprint" cannot be used with "ca_file": remove one of them',
  ]);
  assert.deepStrictEqual(errorsOf({ ...tls, fingerprint: `${fingerprint}f0` }), [
    "fingerprint: is not a SHA-256 fingerprint, expected 64 hexadecimal digits",
  ]);
  assert.deepStrictEqual(errorsOf({ ...tls, fingerprint, send: "PING" }), [
    'send: "send" cannot be used with "fingerprint": a server with a copy of the certificate could read it',
  ]);
});
