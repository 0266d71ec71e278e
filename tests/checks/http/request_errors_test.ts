import assert from "node:assert/strict";
import { findErrors, findRequestWarnings } from "../../../src/checks/http_request.ts";
import { httpCheck, type HttpExpectations } from "../../support/http_check.ts";
import { problemTexts } from "../../support/observe_check.ts";
import { fieldsOf, testTable } from "../../support/rows.ts";

Deno.test("findErrors() finds contradictory settings", async (t) => {
  const table = `
    request.body=""                     | request.body: a GET request has no body, expected another "method", such as "POST"
    request.method=HEAD request.body=x  | request.body: a HEAD request has no body, expected another "method", such as "POST"
    request.headers.Content-LENGTH="1"  | \
      request.headers.Content-LENGTH: header "Content-LENGTH" is set by the runtime, remove it
    request.headers={"Accept":"a","accept":"b"} | \
      request.headers.accept: header "accept" is specified more than once, also as "Accept"
    request.tls.certificate=/c          | request.tls.certificate: tls.certificate is set without tls.key, expected both
    request.tls.key=/k                  | request.tls.key: tls.key is set without tls.certificate, expected both
    request.tls={"fingerprint":"f0"}    | \
      request.tls.fingerprint: is not a SHA-256 fingerprint, expected 64 hexadecimal digits
    request.tls={"verify":false,"caFile":"/a"} | \
      request.tls.verify: "verify" cannot be used with "ca_file": remove one of them
    request.tls={"verify":false,"certificate":"/c","key":"/k"} | request.tls.certificate: "certificate" \
      cannot be used with "fingerprint" or "verify": false, only with "ca_file"
    json={"$.a":{"exists":false,"lessThan":1}} | response.json.$.a: exists is false, so there is nothing to compare`;
  const errorsOf = (settings: HttpExpectations) =>
    problemTexts(findErrors(httpCheck("https://example.org/", settings)));
  await testTable(t, table, (settings, expected) => {
    assert.deepEqual(errorsOf(fieldsOf(settings)), [expected]);
  });
  const json = { "$.a": { exists: false }, "$.b": { exists: true, equals: 1 } };
  for (const settings of [{}, { request: { method: "DELETE", body: "" } }, { json }] as const) {
    assert.deepEqual(errorsOf(settings), []);
  }
});

Deno.test("findWarnings() finds dubious settings", async (t) => {
  const table = `
    warningDurationMs=1500 criticalDurationMs=1500 | response.warning_duration: is not shorter than \
      critical_duration (1.5 s, not below 1.5 s): the warning is never reached
    criticalDurationMs=10000            | response.critical_duration: is not shorter than the timeout \
      (10 s, not below 10 s), which comes first
    request.tls.verify=false            | \
      request.tls.verify: is false, so any server is accepted: prefer "fingerprint" or "ca_file"
    request.tls.fingerprint=a request.headers.X-Key=b | request.tls.fingerprint: a server with a copy of \
      the certificate can read headers, body and credentials: send them with "ca_file"
    method=HEAD json={"$.a":1}          | request.method: a response to HEAD has no body to compare
    statusCode=[200,"3xx"] request.redirects=refuse | \
      request.redirects: rejects only redirects that status_code does not expect
    statusCode=301 request.redirects=follow | \
      request.redirects: redirects are followed, so status_code gets a 3xx only without a Location`;
  const warningsOf = (settings: HttpExpectations, target = "https://example.org/") =>
    problemTexts(findRequestWarnings(httpCheck(target, { timeoutMs: 10_000, ...settings })));
  await testTable(t, table, (settings, expected) => {
    assert.deepEqual(warningsOf(fieldsOf(settings)), [expected]);
  });
  assert.deepEqual(warningsOf({ warningDurationMs: 1000, criticalDurationMs: 1500 }), []);
  const pinned = { tls: { fingerprint: "a" }, headers: { Accept: "b", HOST: "c" } };
  assert.deepEqual(warningsOf({ request: pinned }), []);
  for (const target of ["https://a@example.org/", "https://:a@example.org/"]) {
    assert.match(warningsOf({ request: pinned }, target)[0] ?? "", /^request\.tls\.fingerprint: a server/);
  }
  assert.deepEqual(warningsOf({ request: { tls: { caFile: "/a" } } }, "http://example.org/"), [
    "request.tls: has no effect for http:, except after a redirect to https:",
  ]);
});
