import assert from "node:assert/strict";
import { httpRequestKind } from "../../../src/checks/http_request.ts";
import type { HttpRequestCheck } from "../../../src/domain/check.ts";
import type { TimeLeft } from "../../../src/domain/time_left.ts";
import { concurrentSteps } from "../../support/concurrent_tests.ts";
import { createAuthority, createCertificate } from "../../support/certificates.ts";
import { observeInOwnProcess } from "../../support/connection_check.ts";
import { httpCheck } from "../../support/http_check.ts";
import { beSilent } from "../../support/hostile_servers.ts";
import { response, startAnswering, startRefusing, startServer } from "../../support/http_servers.ts";
import { DAY_MS } from "../../../src/shared/time_units.ts";

const CERTIFICATE: TimeLeft = { warningBeforeExpiryMs: 14 * DAY_MS, criticalBeforeExpiryMs: 3 * DAY_MS };

interface Row {
  readonly name: string;
  readonly toDay: number;
  readonly status?: number;
  readonly asWarning?: boolean;
  readonly certificate?: TimeLeft | null;
  readonly condition: string;
  readonly output: RegExp;
}

Deno.test("observeHttpRequest() compares the time until expiry of the certificate with its limits", async (t) => {
  const authority = createAuthority();
  const file = await Deno.makeTempFile({ suffix: ".pem" });
  await using _removal = { [Symbol.asyncDispose]: () => Deno.remove(file) };
  await Deno.writeTextFile(file, authority.cert);
  await using steps = concurrentSteps(t);
  const rows: readonly Row[] = [
    { name: "enough", toDay: 60, condition: "ok", output: /^status is 200$/ },
    {
      name: "little",
      toDay: 9,
      condition: "warning",
      output: /^certificate expires in 8 d 23 h \(.*\), issued by "test authority"$/,
    },
    { name: "very little", toDay: 2, condition: "critical", output: /^certificate expires in 1 d 23 h / },
    {
      name: "very little as a warning",
      toDay: 2,
      asWarning: true,
      condition: "warning",
      output: /^certificate expires in 1 d 23 h /,
    },
    {
      name: "little with another status",
      toDay: 9,
      status: 500,
      condition: "critical",
      output: /^status is 500, expected 200; certificate expires in 8 d 23 h /,
    },
    { name: "not checked", toDay: 2, certificate: null, condition: "ok", output: /^status is 200$/ },
  ];
  for (const { name, toDay, status = 200, asWarning, certificate = CERTIFICATE, condition, output } of rows) {
    steps.add(name, async () => {
      await using server = startAnswering(response(status), {
        certificate: createCertificate({ authority, toDay }),
      });
      const check = httpCheck(`https://localhost:${server.port}/`, {
        ...asWarning !== undefined && { asWarning },
        ...certificate !== null && { certificate },
        timeoutMs: 15_000,
      });
      const { results: [found] } = await observeInOwnProcess(check, {
        flags: ["--allow-read", "--allow-env", "--allow-sys", `--allow-net=localhost:${server.port}`],
        environment: { DENO_CERT: file },
      });
      assert.match(found?.output ?? "", output);
      assert.strictEqual(found?.condition, condition);
      assert.strictEqual(found.metrics.status, status);
      const left = found.metrics.certificate_left_seconds;
      if (certificate === null) assert.strictEqual(left, undefined);
      else assert(Math.abs((left ?? NaN) - toDay * 86_400) < 60, `${left}`);
      if (certificate === null) assert.strictEqual(server.visits, 1);
    });
  }
  steps.add("a server that hangs when it is asked again", async () => {
    const tls = createCertificate({ authority, toDay: 60 });
    await using real = startAnswering(response(200), { certificate: tls });
    // The first connection goes through to the real server, every other one nowhere.
    await using front = startServer(beSilent);
    await using relay = startRelay(real.port, front.port);
    const check = httpCheck(`https://localhost:${relay.port}/`, {
      certificate: CERTIFICATE,
      timeoutMs: 1500,
    });
    const { results: [found] } = await observeInOwnProcess(check, { environment: { DENO_CERT: file } });
    assert.strictEqual(
      found?.output,
      `reading the certificate: timeout after 1.5 s during the TLS handshake with localhost:${relay.port}`,
    );
    assert.strictEqual(found.condition, "critical");
  });
  steps.add("no answer at all", async () => {
    using refusing = await startRefusing();
    const { port } = refusing;
    const check = httpCheck(`https://localhost:${port}/`, { certificate: CERTIFICATE });
    const { results: [found] } = await observeInOwnProcess(check);
    assert.strictEqual(found?.output, `connecting to localhost:${port} failed: connection refused`);
  });
  steps.add("no TLS", async () => {
    await using server = startAnswering(response(200));
    const check = httpCheck(`${server.origin}/`, { certificate: CERTIFICATE });
    const { results: [found] } = await observeInOwnProcess(check);
    assert.strictEqual(found?.output, "the target is not https:, so it has no certificate");
    assert.strictEqual(found.condition, "critical");
  });
});

/** Leads the first connection to one port, and every other one to another. */
function startRelay(firstPort: number, otherPort: number): AsyncDisposable & { readonly port: number } {
  let count = 0;
  const open: Deno.Conn[] = [];
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepting = (async () => {
    for await (const client of listener) {
      const port = count++ === 0 ? firstPort : otherPort;
      const server = await Deno.connect({ hostname: "127.0.0.1", port });
      open.push(client, server);
      client.readable.pipeTo(server.writable).catch(() => {});
      server.readable.pipeTo(client.writable).catch(() => {});
    }
  })().catch(() => {});
  return {
    port: listener.addr.port,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) {
        try {
          connection.close();
        } catch {
          // The pipe has closed it.
        }
      }
      await accepting;
    },
  };
}

Deno.test("httpRequestKind warns of a certificate without TLS, and of limits in the wrong order", () => {
  const warned = (target: string, certificate: TimeLeft): readonly string[] => {
    const check: HttpRequestCheck = httpCheck(target, { certificate });
    return httpRequestKind.warnings(check).map(({ path, message }) => `${path.join(".")}: ${message}`);
  };
  assert.deepStrictEqual(warned("https://a.example/", CERTIFICATE), []);
  assert.deepStrictEqual(warned("http://a.example/", CERTIFICATE), [
    "response.certificate: the target is not https:, so it has no certificate",
  ]);
  assert.deepStrictEqual(
    warned("https://a.example/", { ...CERTIFICATE, criticalBeforeExpiryMs: 30 * DAY_MS }),
    [
      'response.certificate.critical_before_expiry: is longer than warning_before_expiry (30 d, not 14 d), so it is never "warning"',
    ],
  );
});
