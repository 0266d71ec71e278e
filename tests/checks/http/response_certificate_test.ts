import assert from "node:assert/strict";
import { httpRequestKind } from "../../../src/checks/http_request.ts";
import type { HttpExpectationCertificate } from "../../../src/domain/generated/config.ts";
import { createAuthority, createCertificate } from "../../support/certificates.ts";
import { observeInOwnProcess } from "../../support/connection_check.ts";
import { httpCheck, type HttpExpectations, observeAnswer, observeTarget } from "../../support/http_check.ts";
import { beSilent } from "../../support/hostile_servers.ts";
import { response, startAnswering, startServer } from "../../support/http_servers.ts";
import { DAY_MS } from "../../../src/shared/time_units.ts";
import { problemTexts } from "../../support/observe_check.ts";
import { tempDirectory } from "../../../testing/builders.ts";
import { requiresTools } from "../../../testing/tools.ts";
import { fieldsOf, testTable } from "../../support/rows.ts";

const CERTIFICATE: HttpExpectationCertificate = {
  warningBeforeExpiryMs: 14 * DAY_MS,
  criticalBeforeExpiryMs: 3 * DAY_MS,
};

Deno.test("observeHttpRequest() compares the time until expiry of the certificate with its limits", async (t) => {
  const authority = createAuthority();
  await using directory = await tempDirectory({ "ca.pem": authority.cert });
  const caFile = `${directory.path}/ca.pem`;
  const trusting = { request: { tls: { caFile } } };
  const little = 'certificate expires in 8 d 23 h (…), issued by "test authority"';
  const table = `
    enough      | 60 |                | ok: status is 200
    little      | 9  |                | warning: ${little}
    very little as a warning | 2 | asWarning=true | warning: ${little.replace("8 d", "1 d")}
    little with another status | 9 | statusCode=500 | critical: status is 200, expected 500; ${little}`;
  await testTable(t, table, async (_, days, expectations, expected) => {
    const toDay = Number(days);
    const certificate = createCertificate({ authority, toDay });
    const run = { ...trusting, ...fieldsOf<HttpExpectations>(expectations), certificate: CERTIFICATE };
    const { condition, output, metrics } = await observeAnswer(response(200), run, { certificate });
    assert.strictEqual(`${condition}: ${output.replace(/\(.*?\)/, "(…)")}`, expected);
    assert.ok(Math.abs((metrics["certificate_left_seconds"] ?? NaN) - toDay * 86_400) < 600);
  });
  await t.step("a server that hangs when it is asked again", async () => {
    const tls = createCertificate({ authority, toDay: 60 });
    await using real = startAnswering(response(200), { certificate: tls });
    // The first connection goes through to the real server, every other one nowhere.
    await using front = startServer(beSilent);
    await using relay = startRelay(real.port, front.port);
    const run = { ...trusting, certificate: CERTIFICATE, timeoutMs: 1500 };
    const { condition, output } = await observeTarget(`https://127.0.0.1:${relay.port}/`, run);
    const place = `127.0.0.1:${relay.port}`;
    assert.deepStrictEqual([condition, output], [
      "critical",
      `reading the certificate: timeout after 1.5 s during the TLS handshake with ${place}`,
    ]);
  });
  await t.step("no TLS", async () => {
    const { condition, output } = await observeAnswer(response(200), { certificate: CERTIFICATE });
    assert.deepStrictEqual([condition, output], [
      "critical",
      "the target is not https:, so it has no certificate",
    ]);
  });
  const apart = async (): Promise<void> => {
    const tls = createCertificate({ authority, toDay: 60 });
    await using server = startAnswering(response(200), { certificate: tls });
    const check = httpCheck(`https://localhost:${server.port}/`, { certificate: CERTIFICATE });
    const found = await observeInOwnProcess(check, {
      flags: ["--allow-read", "--allow-env", "--allow-sys", `--allow-net=localhost:${server.port}`],
      environment: { DENO_CERT: caFile },
    });
    assert.deepStrictEqual([found.condition, found.output], ["ok", "status is 200"]);
  };
  const name = "with the CAs of the environment, and no permission but the target's";
  await t.step({ name, fn: apart, ...requiresTools("time") });
});

/** Leads the first connection to one port, and every other one to another. */
function startRelay(firstPort: number, otherPort: number): ReturnType<typeof startServer> {
  return startServer(async (visitor) => {
    const port = visitor.number === 0 ? firstPort : otherPort;
    await visitor.exchange(await Deno.connect({ hostname: "127.0.0.1", port }));
  });
}

Deno.test("httpRequestKind warns of a certificate without TLS, and of limits in the wrong order", () => {
  const warned = (target: string, certificate: HttpExpectationCertificate) =>
    problemTexts(httpRequestKind.warnings(httpCheck(target, { certificate })));
  assert.deepStrictEqual(warned("https://a.example/", CERTIFICATE), []);
  assert.deepStrictEqual(warned("http://a.example/", CERTIFICATE), [
    "response.certificate: the target is not https:, so it has no certificate",
  ]);
  const crossed = { ...CERTIFICATE, criticalBeforeExpiryMs: 30 * DAY_MS };
  assert.deepStrictEqual(warned("https://a.example/", crossed), [
    'response.certificate.critical_before_expiry: is longer than warning_before_expiry (30 d, not 14 d), so it is never "warning"',
  ]);
});
