import assert from "node:assert/strict";
import { findErrors, findRequestWarnings } from "../../../src/checks/http/request_errors.ts";
import { httpCheck, type HttpExpectations } from "../../support/http_check.ts";

interface Row {
  readonly name: string;
  readonly target?: string;
  readonly expectations: HttpExpectations;
  /** Path and sentence; absent: nothing. */
  readonly expected?: readonly [path: string, message: string];
}

Deno.test("findErrors() finds contradictory settings", async (t) => {
  const rows: readonly Row[] = [
    { name: "nothing", expectations: {} },
    { name: "a body with POST", expectations: { request: { method: "POST", body: "x" } } },
    { name: "a body with DELETE", expectations: { request: { method: "DELETE", body: "" } } },
    {
      name: "a body with GET",
      expectations: { request: { body: "" } },
      expected: ["request.body", 'a GET request has no body, expected another "method", such as "POST"'],
    },
    {
      name: "a body with HEAD",
      expectations: { request: { method: "HEAD", body: "x" } },
      expected: ["request.body", 'a HEAD request has no body, expected another "method", such as "POST"'],
    },
    {
      name: "a header of the runtime",
      expectations: { request: { headers: { "Content-LENGTH": "1" } } },
      expected: [
        "request.headers.Content-LENGTH",
        'header "Content-LENGTH" is set by the runtime, remove it',
      ],
    },
    {
      name: "a header twice",
      expectations: { request: { headers: { Accept: "a", accept: "b" } } },
      expected: ["request.headers.accept", 'header "accept" is specified more than once, also as "Accept"'],
    },
    {
      name: "a certificate and its key",
      expectations: { request: { tls: { certificate: "/c", key: "/k" } } },
    },
    {
      name: "a certificate alone",
      expectations: { request: { tls: { certificate: "/c" } } },
      expected: ["request.tls.certificate", "tls.certificate is set without tls.key, expected both"],
    },
    {
      name: "a key alone",
      expectations: { request: { tls: { key: "/k" } } },
      expected: ["request.tls.key", "tls.key is set without tls.certificate, expected both"],
    },
    {
      name: "nothing there",
      expectations: { json: { "$.a": { exists: false }, "$.b": { exists: true, equals: 1 } } },
    },
    {
      name: "nothing there, and compared",
      expectations: { json: { "$.a": { exists: false, lessThan: 1 } } },
      expected: ["response.json.$.a", "exists is false, so there is nothing to compare"],
    },
  ];
  for (const { name, expectations, expected } of rows) {
    await t.step(name, () => {
      const found = findErrors(httpCheck("https://example.org/", expectations));
      assert.deepEqual(
        found.map(({ path, message }) => [path.join("."), message]),
        expected === undefined ? [] : [expected],
      );
    });
  }
});

Deno.test("findWarnings() finds dubious settings", async (t) => {
  const rows: readonly Row[] = [
    {
      name: "nothing",
      expectations: { warningDurationMs: 1000, criticalDurationMs: 1500, timeoutMs: 10_000 },
    },
    {
      name: "a warning after the critical",
      expectations: { warningDurationMs: 1500, criticalDurationMs: 1500 },
      expected: [
        "response.warning_duration",
        "is not shorter than critical_duration (1.5 s, not below 1.5 s): the warning is never reached",
      ],
    },
    {
      name: "a limit that the timeout forestalls",
      expectations: { criticalDurationMs: 10_000, timeoutMs: 10_000 },
      expected: [
        "response.critical_duration",
        "is not shorter than the timeout (10 s, not below 10 s), which comes first",
      ],
    },
    {
      name: "something expected of no body",
      expectations: { method: "HEAD", json: { "$.a": 1 } },
      expected: ["request.method", "a response to HEAD has no body to compare"],
    },
    {
      name: "tls of a plain URL",
      target: "http://example.org/",
      expectations: { request: { tls: { caFile: "/a" } } },
      expected: ["request.tls", "has no effect for http:, except after a redirect to https:"],
    },
    {
      name: "a redirect that is expected and rejected",
      expectations: { statusCode: [200, "3xx"], request: { redirects: "refuse" } },
      expected: ["request.redirects", "rejects only redirects that status_code does not expect"],
    },
    {
      name: "a redirect that is expected and followed",
      expectations: { statusCode: 301, request: { redirects: "follow" } },
      expected: [
        "request.redirects",
        "redirects are followed, so status_code gets a 3xx only without a Location",
      ],
    },
    {
      name: "redirects that are rejected",
      expectations: { statusCode: null, request: { redirects: "refuse" } },
    },
  ];
  for (const { name, target = "https://example.org/", expectations, expected } of rows) {
    await t.step(name, () => {
      const found = findRequestWarnings(httpCheck(target, expectations));
      assert.deepEqual(
        found.map(({ path, message }) => [path.join("."), message]),
        expected === undefined ? [] : [expected],
      );
    });
  }
});
