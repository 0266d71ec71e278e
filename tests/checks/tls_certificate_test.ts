import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { tlsCertificateKind } from "../../src/checks/tls_certificate.ts";
import type { TlsCertificateParameters } from "../../src/domain/check.ts";
import { type CertificateFacts, createAuthority, createCertificate } from "../support/certificates.ts";
import { concurrentSteps } from "../support/concurrent_tests.ts";
import { certificateCheck, observeConnection, observeInOwnProcess } from "../support/connection_check.ts";
import { beSilent, drip, leave, speakGarbage, speakPlainly } from "../support/hostile_servers.ts";
import { startRefusing, startServer, type Visitor } from "../support/http_servers.ts";
import { fixture } from "../support/processes.ts";
import { startMailServer, startScriptedServer } from "../support/mail_server.ts";
import { DAY_MS } from "../../src/shared/time_units.ts";

/** Creates a CA, and a file with its certificate. */
async function withAuthority(
  use: (authority: ReturnType<typeof createAuthority>, path: string) => Promise<void>,
): Promise<void> {
  const authority = createAuthority();
  const path = await Deno.makeTempFile({ suffix: ".pem" });
  try {
    await Deno.writeTextFile(path, `a private authority\n${authority.cert}`);
    await use(authority, path);
  } finally {
    await Deno.remove(path);
  }
}

interface Row {
  readonly name: string;
  readonly facts: CertificateFacts;
  readonly parameters?: Partial<TlsCertificateParameters>;
  readonly aheadMs?: number;
  readonly condition: string;
  readonly output: RegExp;
  readonly leftDays: number;
}

Deno.test("observeTlsCertificate() returns the time until expiry of a certificate, and all its faults", async (t) => {
  await withAuthority(async (authority, path) => {
    const rows: readonly Row[] = [
      {
        name: "valid for long",
        facts: { authority, toDay: 400 },
        condition: "ok",
        output: /^certificate expires in 399 d 23 h \(\d{4}-\d\d-\d\d\), issued by "test authority"$/,
        leftDays: 400,
      },
      {
        name: "ends soon",
        facts: { authority, toDay: 9 },
        condition: "warning",
        output: /^certificate expires in 8 d 23 h \(\d{4}-\d\d-\d\d\), issued by "test authority"$/,
        leftDays: 9,
      },
      {
        name: "expires very soon",
        facts: { authority, toDay: 2 },
        condition: "critical",
        output: /^certificate expires in 1 d 23 h /,
        leftDays: 2,
      },
      {
        name: "the same certificate with other limits",
        facts: { authority, toDay: 2 },
        parameters: { warningBeforeExpiryMs: DAY_MS, criticalBeforeExpiryMs: 3_600_000 },
        condition: "ok",
        output: /^certificate expires in 1 d 23 h /,
        leftDays: 2,
      },
      {
        name: "the same certificate at a later time",
        facts: { authority, toDay: 400 },
        aheadMs: 390 * DAY_MS,
        condition: "warning",
        output: /^certificate expires in 9 d 23 h /,
        leftDays: 10,
      },
      {
        name: "expired",
        facts: { authority, fromDay: -9, toDay: -2 },
        condition: "critical",
        output: /^certificate expired 2 d( \d+ s)? ago \(\d{4}-\d\d-\d\d\), issued by "test authority"$/,
        leftDays: -2,
      },
      {
        name: "not valid yet",
        facts: { authority, fromDay: 2, toDay: 60 },
        condition: "critical",
        output:
          /^certificate is not valid yet, it will be in 1 d 23 h \(\d{4}-\d\d-\d\d\), issued by "test authority"$/,
        leftDays: 60,
      },
      {
        name: "another name",
        facts: { authority, toDay: 60, hosts: ["www.example.org", "example.org"], addresses: [] },
        condition: "critical",
        output:
          /^certificate is not valid for name "localhost", only for "www\.example\.org", "example\.org"; it expires in 59 d 23 h /,
        leftDays: 60,
      },
      {
        name: "the requested name",
        facts: { authority, toDay: 60, hosts: ["shop.example.org"], addresses: [] },
        parameters: { serverName: "shop.example.org" },
        condition: "ok",
        output: /^certificate expires in 59 d 23 h /,
        leftDays: 60,
      },
      {
        name: "an address",
        facts: { authority, toDay: 60, hosts: [] },
        parameters: { host: "127.0.0.1" },
        condition: "ok",
        output: /^certificate expires in 59 d 23 h /,
        leftDays: 60,
      },
      {
        name: "self-signed",
        facts: { toDay: 60 },
        condition: "critical",
        output: /^certificate is not trusted \(self-signed\); it expires in 59 d 23 h .*"test server"$/,
        leftDays: 60,
      },
      {
        name: "an unknown CA",
        facts: { authority: { ...createAuthority(), name: "another CA" }, toDay: 60 },
        condition: "critical",
        output: /^certificate is not trusted \(unknown issuer\); it expires in 59 d 23 h .*"another CA"$/,
        leftDays: 60,
      },
    ];
    for (const { name, facts, parameters, aheadMs = 0, condition, output, leftDays } of rows) {
      await t.step(name, async () => {
        const certificate = createCertificate(facts);
        await using server = startServer((visitor) => visitor.untilGone(), { certificate });
        const check = certificateCheck({ port: server.port, caFile: path, ...parameters });
        const found = await observeConnection(check, { aheadMs });
        assert.match(found.output, output);
        assert.strictEqual(found.condition, condition);
        const left = found.metrics.certificate_left_seconds ?? NaN;
        assert(Math.abs(left - leftDays * 86_400) < 60, `${left}`);
        await server.untilLeft();
      });
    }
  });
});

Deno.test("observeTlsCertificate() starts TLS in SMTP, IMAP and POP3", async (t) => {
  await withAuthority(async (authority, path) => {
    const certificate = createCertificate({ authority, toDay: 60 });
    await t.step("an SMTP server", async () => {
      await using server = await startMailServer({ tls: { certificate, begin: "STARTTLS" } });
      const check = certificateCheck({ port: server.port, starttls: "smtp", caFile: path });
      const { condition, output } = await observeConnection(check);
      assert.match(output, /^certificate expires in 59 d 23 h .*, issued by "test authority"$/);
      assert.strictEqual(condition, "ok");
    });
    await t.step("an SMTP server with an expired certificate", async () => {
      const expired = createCertificate({ authority, fromDay: -9, toDay: -2 });
      await using server = await startMailServer({ tls: { certificate: expired, begin: "STARTTLS" } });
      const check = certificateCheck({ port: server.port, starttls: "smtp", caFile: path });
      const { condition, output } = await observeConnection(check);
      assert.match(output, /^certificate expired 2 d( \d+ s)? ago .*, issued by "test authority"$/);
      assert.strictEqual(condition, "critical");
    });
    const talks = [
      { starttls: "imap", greeting: "* OK hello\r\n", asks: "a STARTTLS", reply: "a BAD no\r\n" },
      { starttls: "pop3", greeting: "+OK hello\r\n", asks: "STLS", reply: "-ERR no\r\n" },
      { starttls: "smtp", greeting: "554 go away\r\n", asks: null, reply: "554 go away\r\n" },
    ] as const;
    for (const { starttls, greeting, asks, reply } of talks) {
      await t.step(`a refusal by ${starttls}`, async () => {
        await using server = startScriptedServer(async (visitor) => {
          await visitor.send(greeting);
          if (asks !== null) assert.strictEqual((await visitor.readLine()).trim(), asks);
          if (asks !== null) await visitor.send(reply);
          await visitor.untilGone();
        });
        const check = certificateCheck({ port: server.port, starttls });
        const { condition, output } = await observeConnection(check);
        assert.strictEqual(
          output,
          `requesting STARTTLS from ${check.parameters.host}:${server.port} failed: server replied "${reply.trim()}"`,
        );
        assert.strictEqual(condition, "critical");
      });
    }
  });
});

Deno.test("observeTlsCertificate() names the failed phase if a server sends no certificate", async (t) => {
  await using steps = concurrentSteps(t);
  interface Hostile {
    readonly name: string;
    readonly meet: (visitor: Visitor) => Promise<void>;
    readonly parameters?: Partial<TlsCertificateParameters>;
    readonly timeoutMs?: number;
    readonly output: RegExp;
  }
  const sendAlert = async (visitor: Visitor): Promise<void> => {
    await visitor.readSome();
    await visitor.send(new Uint8Array([0x15, 0x03, 0x03, 0x00, 0x02, 0x01, 0x00]));
    await visitor.untilGone();
  };
  const rows: readonly Hostile[] = [
    {
      name: "silent",
      meet: beSilent,
      timeoutMs: 200,
      output: /^timeout after 0\.2 s during the TLS handshake with \S+$/,
    },
    {
      name: "silent after the TLS request",
      meet: beSilent,
      parameters: { starttls: "smtp" },
      timeoutMs: 200,
      output: /^timeout after 0\.2 s while requesting STARTTLS from \S+$/,
    },
    {
      name: "dripping",
      meet: drip,
      timeoutMs: 400,
      output: /^(TLS handshake with \S+ failed: response is not TLS|timeout after)/,
    },
    { name: "leaving", meet: leave, output: /^TLS handshake with \S+ failed: connection (closed|reset)/ },
    { name: "garbage", meet: speakGarbage, output: /^TLS handshake with \S+ failed: \S/ },
    {
      name: "clear text",
      meet: speakPlainly,
      output: /^TLS handshake with \S+ failed: response is not TLS$/,
    },
    {
      name: "a TLS alert instead of a handshake",
      meet: sendAlert,
      timeoutMs: 1000,
      output: /^(TLS handshake with \S+ failed: \S|timeout after)/,
    },
  ];
  for (const { name, meet, parameters, timeoutMs, output } of rows) {
    steps.add(name, async () => {
      await using server = startServer(meet);
      const check = certificateCheck({ host: "127.0.0.1", port: server.port, ...parameters }, timeoutMs);
      const found = await observeConnection(check);
      assert.match(found.output, output);
      assert.strictEqual(found.condition, "critical");
      await server.untilLeft();
    });
  }
});

Deno.test("observeTlsCertificate() returns unknown for failures of this side", async (t) => {
  using refusing = await startRefusing();
  const { port } = refusing;
  await t.step("a missing CA file", async () => {
    const found = await observeConnection(certificateCheck({ port, caFile: "/nowhere/ca.pem" }));
    assert.deepStrictEqual([found.condition, found.output], [
      "unknown",
      'ca_file "/nowhere/ca.pem" cannot be read: file does not exist',
    ]);
  });
  await t.step("a CA file without a certificate", async () => {
    const found = await observeConnection(certificateCheck({ port, caFile: fixture("forever.sh") }));
    assert.deepStrictEqual([found.condition, found.output], [
      "unknown",
      `ca_file "${fixture("forever.sh")}" contains no certificate, expected PEM`,
    ]);
  });
});

Deno.test("observeTlsCertificate() leaks no file descriptor, and requires only its host, port and CA file", async (t) => {
  await withAuthority(async (authority, path) => {
    const valid = createCertificate({ authority, toDay: 60 });
    const expired = createCertificate({ authority, fromDay: -9, toDay: -2 });
    const untilGone = (visitor: Visitor): Promise<void> => visitor.untilGone();
    const rows = [
      { name: "valid", meet: untilGone, options: { certificate: valid } },
      { name: "expired", meet: untilGone, options: { certificate: expired } },
      { name: "closing at once", meet: leave, options: { certificate: valid } },
      { name: "silent", meet: beSilent, options: {} },
      { name: "clear text", meet: speakPlainly, options: {} },
    ];
    await using steps = concurrentSteps(t);
    for (const { name, meet, options } of rows) {
      steps.add(name, async () => {
        await using server = startServer(meet, options);
        const check = certificateCheck(
          { port: server.port, caFile: path },
          meet === beSilent ? 100 : 5000,
        );
        const run = { times: 8, countsDescriptors: Deno.build.os === "linux" };
        // The runtime opens up to two for itself, at any time; one for each run would be many more.
        assert((await observeInOwnProcess(check, run)).descriptorGrowth <= 2);
      });
    }
    steps.add("permissions", async () => {
      await using server = startServer(untilGone, { certificate: valid });
      const check = certificateCheck({ port: server.port, caFile: path });
      const { net = [], read = [] } = await tlsCertificateKind.requiredPermissions(
        check,
        createMemorySystem(),
      );
      assert.deepStrictEqual([net, read], [[`localhost:${server.port}`], [path]]);
      const project = new URL("../..", import.meta.url).pathname;
      const { results: [found] } = await observeInOwnProcess(check, {
        flags: [
          `--allow-read=${[...read, project].join(",")}`,
          "--allow-env",
          "--allow-sys",
          `--allow-net=${net.join(",")}`,
        ],
      });
      assert.match(found?.output ?? "", /^certificate expires in 59 d 23 h /);
    });
  });
});

Deno.test("tlsCertificateKind warns of limits in the wrong order", () => {
  const check = certificateCheck({ port: 443, criticalBeforeExpiryMs: 30 * DAY_MS });
  assert.deepStrictEqual(tlsCertificateKind.warnings(check), [{
    path: ["critical_before_expiry"],
    message: 'is longer than warning_before_expiry (30 d, not 14 d), so it is never "warning"',
  }]);
  assert.deepStrictEqual(tlsCertificateKind.warnings(certificateCheck({ port: 443 })), []);
});

Deno.test("observeTlsCertificate() trusts the certificate with the expected fingerprint, and no other", async (t) => {
  const fingerprintOf = ({ cert }: { readonly cert: string }): string =>
    new X509Certificate(cert).fingerprint256;
  const self = createCertificate({ toDay: 60, hosts: ["other.example"], addresses: [] });
  const expired = createCertificate({ fromDay: -9, toDay: -2 });
  const rows = [
    {
      name: "self-signed, for another name",
      served: self,
      pinned: self,
      condition: "ok",
      output: /^certificate expires in 59 d/,
    },
    {
      name: "another one",
      served: self,
      pinned: expired,
      condition: "critical",
      output: /^certificate has the fingerprint [\da-f]{64}, expected another one; it expires in /,
    },
    {
      name: "expired",
      served: expired,
      pinned: expired,
      condition: "critical",
      output: /^certificate expired 2 d/,
    },
  ];
  for (const { name, served, pinned, condition, output } of rows) {
    await t.step(name, async () => {
      await using server = startServer((visitor) => visitor.untilGone(), { certificate: served });
      const fingerprint = fingerprintOf(pinned);
      for (const text of [fingerprint, fingerprint.replaceAll(":", "").toLowerCase()]) {
        const check = certificateCheck({ port: server.port, fingerprint: text });
        assert.deepStrictEqual(tlsCertificateKind.errors?.(check), []);
        const found = await observeConnection(check);
        assert.match(found.output, output);
        assert.strictEqual(found.condition, condition);
      }
      await server.untilLeft();
    });
  }
});

Deno.test("observeTlsCertificate() connects to another host, with a permission for that alone", async () => {
  await withAuthority(async (authority, caFile) => {
    const certificate = createCertificate({ authority, hosts: ["shop.example"], addresses: [], toDay: 60 });
    await using server = startServer((visitor) => visitor.untilGone(), { certificate });
    const { port } = server;
    const check = certificateCheck({ host: "shop.example", connectTo: "127.0.0.1", port, caFile });
    assert.match((await observeConnection(check)).output, /^certificate expires in 59 d/);
    const { net } = await tlsCertificateKind.requiredPermissions(check, createMemorySystem());
    assert.deepStrictEqual(net, [`127.0.0.1:${port}`]);
  });
});

Deno.test("tlsCertificateKind rejects an invalid fingerprint, and a second source of trust", () => {
  const errorsOf = (parameters: Partial<TlsCertificateParameters>): readonly string[] =>
    (tlsCertificateKind.errors?.(certificateCheck({ port: 1, ...parameters })) ?? []).map(({ message }) =>
      message
    );
  for (const fingerprint of ["", "ab", "g0".repeat(32), "f0".repeat(33)]) {
    assert.deepStrictEqual(errorsOf({ fingerprint }), [
      "is not a SHA-256 fingerprint, expected 64 hexadecimal digits",
    ]);
  }
  assert.deepStrictEqual(errorsOf({ fingerprint: "f0".repeat(32), caFile: "/a" }), [
    '"fingerprint" cannot be used with "ca_file": remove one of them',
  ]);
});
