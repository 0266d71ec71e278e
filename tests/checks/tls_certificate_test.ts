import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { tlsCertificateKind } from "../../src/checks/tls_certificate.ts";
import type { TlsCertificateParameters } from "../../src/domain/generated/config.ts";
import { type CertificateFacts, createAuthority, createCertificate } from "../support/certificates.ts";
import { concurrentSteps } from "../support/concurrent_tests.ts";
import { certificateCheck, observeConnection } from "../support/connection_check.ts";
import { beSilent, leave, speakGarbage, speakPlainly } from "../support/hostile_servers.ts";
import { startRefusing, startServer, type Visitor } from "../support/http_servers.ts";
import { fixture } from "../support/processes.ts";
import { startMailServer, startScriptedServer } from "../support/mail_server.ts";
import { DAY_MS } from "../../src/shared/time_units.ts";
import { problemTexts } from "../support/observe_check.ts";
import { fieldsOf, type Rows, testRows, testTable } from "../support/rows.ts";

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

Deno.test("observeTlsCertificate() returns the time until expiry of a certificate, and all its faults", async (t) => {
  await withAuthority(async (authority, path) => {
    const certificates: Readonly<Record<string, CertificateFacts>> = {
      www: { hosts: ["www.example.org", "example.org"], addresses: [] },
      shop: { hosts: ["shop.example.org"], addresses: [] },
      address: { hosts: [] },
      stranger: { authority: { ...createAuthority(), name: "another CA" } },
    };
    const table = `
      valid for long     |          | toDay=400 | | ok: certificate expires in 399 d 23 h (DAY)
      expires soon       |          | toDay=9   | | warning: certificate expires in 8 d 23 h (DAY)
      expires very soon  |          | toDay=2   | | critical: certificate expires in 1 d 23 h (DAY)
      at a later time    |          | toDay=400 | aheadDays=390 | warning: certificate expires in 9 d 23 h (DAY)
      expired            |          | fromDay=-9 toDay=-2 | | critical: certificate expired 2 d ago (DAY)
      not valid yet      |          | fromDay=2 toDay=60 | | critical: certificate is not valid yet, it will be in 1 d 23 h (DAY)
      another name       | www      | toDay=60  | | critical: certificate is not valid for name "localhost", \\
        only for "www.example.org", "example.org"; it expires in 59 d 23 h (DAY)
      the requested name | shop     | toDay=60  | serverName=shop.example.org | ok: certificate expires in 59 d 23 h (DAY)
      an address         | address  | toDay=60  | host=127.0.0.1 | ok: certificate expires in 59 d 23 h (DAY)
      an unknown CA      | stranger | toDay=60  | | \\
        critical: certificate is not trusted (unknown issuer); it expires in 59 d 23 h (DAY)`;
    await testTable(t, table, async (_, kind, days, settings, expected) => {
      const facts = { authority, ...certificates[kind], ...fieldsOf<{ readonly toDay: number }>(days) };
      const { aheadDays = 0, ...parameters } = fieldsOf<{ aheadDays?: number }>(settings);
      const certificate = createCertificate(facts);
      await using server = startServer((visitor) => visitor.untilGone(), { certificate });
      const check = certificateCheck({ port: server.port, caFile: path, ...parameters });
      const seen = await observeConnection(check, { aheadMs: aheadDays * DAY_MS });
      const words = seen.output.replace(/\(\d{4}-\d\d-\d\d\)/, "(DAY)").replace(/ \d+ s ago/, " ago");
      assert.strictEqual(`${seen.condition}: ${words}`, `${expected}, issued by "${facts.authority.name}"`);
      const left = seen.metrics.certificate_left_seconds ?? NaN;
      assert(Math.abs(left - (facts.toDay - aheadDays) * 86_400) < 600);
      await server.untilLeft();
    });
    await t.step("self-signed", async () => {
      const certificate = createCertificate({ toDay: 60 });
      await using server = startServer((visitor) => visitor.untilGone(), { certificate });
      const { output } = await observeConnection(certificateCheck({ port: server.port, caFile: path }));
      assert.match(output, /^certificate is not trusted \(self-signed\); it expires in .*"test server"$/);
    });
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
    const table = `
      imap | * OK hello   | a STARTTLS | a BAD no
      pop3 | +OK hello    | STLS       | -ERR no
      smtp | 554 go away  |            | 554 go away`;
    await testTable(t, table, async (protocol, greeting, asks, reply) => {
      await using server = startScriptedServer(async (visitor) => {
        await visitor.send(`${greeting}\r\n`);
        if (asks !== "") {
          assert.strictEqual((await visitor.readLine()).trim(), asks);
          await visitor.send(`${reply}\r\n`);
        }
        await visitor.untilGone();
      });
      const check = certificateCheck({ port: server.port, starttls: protocol as "imap" });
      const { condition, output } = await observeConnection(check);
      const place = `${check.parameters.host}:${server.port}`;
      assert.strictEqual(
        `${condition}: ${output}`,
        `critical: requesting STARTTLS from ${place} failed: server replied "${reply}"`,
      );
    });
  });
});

Deno.test("observeTlsCertificate() names the failed phase if a server sends no certificate", async (t) => {
  await using steps = concurrentSteps(t);
  const sendAlert = async (visitor: Visitor): Promise<void> => {
    await visitor.readSome();
    await visitor.send(new Uint8Array([0x15, 0x03, 0x03, 0x00, 0x02, 0x01, 0x00]));
    await visitor.untilGone();
  };
  const failed = "^TLS handshake with \\S+ failed: ";
  const smtp = { starttls: "smtp" } as const;
  type Meet = (visitor: Visitor) => Promise<void>;
  const rows: Rows<[Meet, timeoutMs: number, output: string, typeof smtp?]> = {
    "silent": [beSilent, 200, "^timeout after 0\\.2 s during the TLS handshake with \\S+$"],
    "silent after the TLS request": [
      beSilent,
      200,
      "^timeout after 0\\.2 s while requesting STARTTLS from \\S+$",
      smtp,
    ],
    "leaving": [leave, 15_000, `${failed}connection (closed|reset)`],
    "garbage": [speakGarbage, 15_000, `${failed}\\S`],
    "clear text": [speakPlainly, 15_000, `${failed}response is not TLS$`],
    "a TLS alert instead of a handshake": [sendAlert, 1000, `${failed}\\S|^timeout after`],
  };
  for (const [name, [meet, timeoutMs, expected, parameters]] of Object.entries(rows)) {
    steps.add(name, async () => {
      await using server = startServer(meet);
      const check = certificateCheck({ host: "127.0.0.1", port: server.port, ...parameters }, timeoutMs);
      const { condition, output } = await observeConnection(check);
      assert.match(output, new RegExp(expected));
      assert.strictEqual(condition, "critical");
      await server.untilLeft();
    });
  }
});

Deno.test("observeTlsCertificate() returns unknown for failures of this side", async (t) => {
  using refusing = await startRefusing();
  const { port } = refusing;
  const rows: Readonly<Record<string, string>> = {
    "/no/such/ca.pem": "cannot be read: file does not exist",
    [fixture("forever.sh")]: "contains no certificate, expected PEM",
  };
  await testRows(t, rows, async (reason, caFile) => {
    const { condition, output } = await observeConnection(certificateCheck({ port, caFile }));
    assert.strictEqual(`${condition}: ${output}`, `unknown: ca_file "${caFile}" ${reason}`);
  });
});

Deno.test("tlsCertificateKind warns of limits in the wrong order", () => {
  const warned = (parameters: Partial<TlsCertificateParameters>) =>
    problemTexts(tlsCertificateKind.warnings?.(certificateCheck({ port: 443, ...parameters })));
  assert.deepStrictEqual(warned({ criticalBeforeExpiryMs: 30 * DAY_MS }), [
    'critical_before_expiry: is longer than warning_before_expiry (30 d, not 14 d), so it is never "warning"',
  ]);
  assert.deepStrictEqual(warned({}), []);
});

Deno.test("observeTlsCertificate() trusts the certificate with the expected fingerprint, and no other", async (t) => {
  const fingerprintOf = ({ cert }: { readonly cert: string }): string =>
    new X509Certificate(cert).fingerprint256;
  const self = createCertificate({ toDay: 60, hosts: ["other.example"], addresses: [] });
  const expired = createCertificate({ fromDay: -9, toDay: -2 });
  const rows = {
    "self-signed, for another name": [self, self, "ok", /^certificate expires in 59 d/],
    "another one": [
      self,
      expired,
      "critical",
      /^certificate has the fingerprint [\da-f]{64}, expected another one; it expires in /,
    ],
    "expired": [expired, expired, "critical", /^certificate expired 2 d/],
  } as const;
  await testRows(t, rows, async ([served, pinned, condition, output]) => {
    await using server = startServer((visitor) => visitor.untilGone(), { certificate: served });
    const fingerprint = fingerprintOf(pinned);
    for (const text of [fingerprint, fingerprint.replaceAll(":", "").toLowerCase()]) {
      const check = certificateCheck({ port: server.port, fingerprint: text });
      assert.deepStrictEqual(problemTexts(tlsCertificateKind.errors?.(check)), []);
      const found = await observeConnection(check);
      assert.match(found.output, output);
      assert.strictEqual(found.condition, condition);
    }
    await server.untilLeft();
  });
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
  const errorsOf = (parameters: Partial<TlsCertificateParameters>) =>
    problemTexts(tlsCertificateKind.errors?.(certificateCheck({ port: 1, ...parameters })));
  for (const fingerprint of ["", "ab", "g0".repeat(32), "f0".repeat(33)]) {
    assert.deepStrictEqual(errorsOf({ fingerprint }), [
      "fingerprint: is not a SHA-256 fingerprint, expected 64 hexadecimal digits",
    ]);
  }
  assert.deepStrictEqual(errorsOf({ fingerprint: "f0".repeat(32), caFile: "/a" }), [
    'fingerprint: "fingerprint" cannot be used with "ca_file": remove one of them',
  ]);
});
