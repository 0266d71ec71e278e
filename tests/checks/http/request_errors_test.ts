import assert from "node:assert/strict";
import { findErrors, findRequestWarnings } from "../../../src/checks/http/request_errors.ts";
import { httpCheck, type HttpExpectations } from "../../support/http_check.ts";
import { problemTexts } from "../../support/observe_check.ts";
import { testRows } from "../../support/rows.ts";

/** Expected errors or warnings with the settings that cause them. */
type Rows = Readonly<Record<string, HttpExpectations>>;

Deno.test("findErrors() finds contradictory settings", async (t) => {
  const rows: Rows = {
    'request.body: a GET request has no body, expected another "method", such as "POST"': {
      request: { body: "" },
    },
    'request.body: a HEAD request has no body, expected another "method", such as "POST"': {
      request: { method: "HEAD", body: "x" },
    },
    'request.headers.Content-LENGTH: header "Content-LENGTH" is set by the runtime, remove it': {
      request: { headers: { "Content-LENGTH": "1" } },
    },
    'request.headers.accept: header "accept" is specified more than once, also as "Accept"': {
      request: { headers: { Accept: "a", accept: "b" } },
    },
    "request.tls.certificate: tls.certificate is set without tls.key, expected both": {
      request: { tls: { certificate: "/c" } },
    },
    "request.tls.key: tls.key is set without tls.certificate, expected both": {
      request: { tls: { key: "/k" } },
    },
    "response.json.$.a: exists is false, so there is nothing to compare": {
      json: { "$.a": { exists: false, lessThan: 1 } },
    },
  };
  const errorsOf = (settings: HttpExpectations) =>
    problemTexts(findErrors(httpCheck("https://example.org/", settings)));
  await testRows(t, rows, (settings, expected) => assert.deepEqual(errorsOf(settings), [expected]));
  const json = { "$.a": { exists: false }, "$.b": { exists: true, equals: 1 } };
  for (const settings of [{}, { request: { method: "DELETE", body: "" } }, { json }] as const) {
    assert.deepEqual(errorsOf(settings), []);
  }
});

Deno.test("findWarnings() finds dubious settings", async (t) => {
  const rows: Rows = {
    "response.warning_duration: is not shorter than critical_duration (1.5 s, not below 1.5 s): the warning is never reached":
      { warningDurationMs: 1500, criticalDurationMs: 1500 },
    "response.critical_duration: is not shorter than the timeout (10 s, not below 10 s), which comes first": {
      criticalDurationMs: 10_000,
    },
    "request.method: a response to HEAD has no body to compare": { method: "HEAD", json: { "$.a": 1 } },
    "request.redirects: rejects only redirects that status_code does not expect": {
      statusCode: [200, "3xx"],
      request: { redirects: "refuse" },
    },
    "request.redirects: redirects are followed, so status_code gets a 3xx only without a Location": {
      statusCode: 301,
      request: { redirects: "follow" },
    },
  };
  const warningsOf = (settings: HttpExpectations, target = "https://example.org/") =>
    problemTexts(findRequestWarnings(httpCheck(target, { timeoutMs: 10_000, ...settings })));
  await testRows(t, rows, (settings, expected) => assert.deepEqual(warningsOf(settings), [expected]));
  assert.deepEqual(warningsOf({ warningDurationMs: 1000, criticalDurationMs: 1500 }), []);
  assert.deepEqual(warningsOf({ request: { tls: { caFile: "/a" } } }, "http://example.org/"), [
    "request.tls: has no effect for http:, except after a redirect to https:",
  ]);
});
