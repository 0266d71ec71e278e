/** The errors about the keys of an `http_request` check, from the whole loading of a config. */
import assert from "node:assert/strict";
import { load, problemsOf, withCheck } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

const page = (request: object, response: object = {}) =>
  withCheck({
    kind: "http_request",
    parameters: { request: { target: "https://h/", ...request }, response },
  });

Deno.test("loadConfig() rejects an invalid request or expected response", async (t) => {
  const at = "checks.web.parameters";
  const rows: Readonly<Record<string, readonly [config: unknown, problem: string]>> = {
    "a pattern that is too large": [
      page({}, { body_pattern: "(?:a{100}b){9}" }),
      `${at}.response.body_pattern: "(?:a{100}b){9}" is not a regular expression in RE2 syntax: ` +
      "it is too large (911 steps of at most 500), repeat less",
    ],
    "a pattern that is too long": [
      page({}, { body_pattern: "a".repeat(1001) }),
      `${at}.response.body_pattern: "${"a".repeat(79)}…" is not a regular expression in RE2 syntax: ` +
      "it has 1001 characters, at most 1000 are accepted",
    ],
  };
  await testRows(t, rows, async ([config, problem]) => assert.deepEqual(await problemsOf(config), [problem]));
});

Deno.test("loadConfig() resolves every key of an http_request check", async () => {
  const request = {
    target: "https://h/",
    method: "PUT",
    tls: { ca_file: "ca.pem", certificate: "/c", key: "k" },
  };
  const response = {
    status_code: [200, "3xx"],
    json: { "$.a": { equals: { b_c: [{ d_e: 1 }] }, less_than: 1 }, "$.list": [{ f_g: null }], "$.b": "up" },
    warning_duration: "500 ms",
    critical_duration: 1.5,
  };
  const { checks } = await load(withCheck({ kind: "http_request", parameters: { request, response } }));
  const [check] = checks;
  assert.ok(check?.kind === "http_request");
  const { caFile: authority, certificate, key } = check.parameters.request?.tls ?? {};
  assert.deepEqual([authority, certificate, key], ["/etc/monitor/ca.pem", "/c", "/etc/monitor/k"]);
  const resolved = JSON.parse(JSON.stringify(check.parameters.response));
  assert.deepEqual(resolved, {
    statusCode: [200, "3xx"],
    headers: {},
    json: { "$.a": { equals: { b_c: [{ d_e: 1 }] }, lessThan: 1 }, "$.list": [{ f_g: null }], "$.b": "up" },
    warningDurationMs: 500,
    criticalDurationMs: 1500,
  });
});

Deno.test("loadConfig() does not print a pattern from a secret", async () => {
  const config = page({}, { body_pattern: "(${env:PATTERN}" });
  assert.deepEqual(await problemsOf(config, { environment: { PATTERN: "swordfish" } }), [
    'checks.web.parameters.response.body_pattern: "(${env:PATTERN}" is not a regular expression in RE2 syntax',
  ]);
});
