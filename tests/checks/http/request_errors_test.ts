import assert from "node:assert/strict";
import { findErrors, findRequestWarnings } from "../../../src/checks/http/request_errors.ts";
import { httpCheck, type HttpExpectations } from "../../support/http_check.ts";
import { testRows } from "../../support/rows.ts";

/** The settings, the path and the message of the error or the warning, and the target. */
type Rows = Readonly<
  Record<
    string,
    readonly [HttpExpectations, expected?: readonly [path: string, message: string] | null, target?: string]
  >
>;

Deno.test("findErrors() finds contradictory settings", async (t) => {
  const rows: Rows = {
    "nothing": [{}],
    "a body with DELETE": [{ request: { method: "DELETE", body: "" } }],
    "a body with GET": [{ request: { body: "" } }, [
      "request.body",
      'a GET request has no body, expected another "method", such as "POST"',
    ]],
    "a body with HEAD": [{ request: { method: "HEAD", body: "x" } }, [
      "request.body",
      'a HEAD request has no body, expected another "method", such as "POST"',
    ]],
    "a header of the runtime": [{ request: { headers: { "Content-LENGTH": "1" } } }, [
      "request.headers.Content-LENGTH",
      'header "Content-LENGTH" is set by the runtime, remove it',
    ]],
    "a header twice": [{ request: { headers: { Accept: "a", accept: "b" } } }, [
      "request.headers.accept",
      'header "accept" is specified more than once, also as "Accept"',
    ]],
    "a certificate alone": [{ request: { tls: { certificate: "/c" } } }, [
      "request.tls.certificate",
      "tls.certificate is set without tls.key, expected both",
    ]],
    "a key alone": [{ request: { tls: { key: "/k" } } }, [
      "request.tls.key",
      "tls.key is set without tls.certificate, expected both",
    ]],
    "nothing there": [{ json: { "$.a": { exists: false }, "$.b": { exists: true, equals: 1 } } }],
    "nothing there, and compared": [{ json: { "$.a": { exists: false, lessThan: 1 } } }, [
      "response.json.$.a",
      "exists is false, so there is nothing to compare",
    ]],
  };
  await testRows(t, rows, ([expectations, expected]) => {
    const found = findErrors(httpCheck("https://example.org/", expectations));
    assert.deepEqual(
      found.map(({ path, message }) => [path.join("."), message]),
      expected === undefined || expected === null ? [] : [expected],
    );
  });
});

Deno.test("findWarnings() finds dubious settings", async (t) => {
  const rows: Rows = {
    "nothing": [{ warningDurationMs: 1000, criticalDurationMs: 1500, timeoutMs: 10_000 }],
    "a warning after the critical": [{ warningDurationMs: 1500, criticalDurationMs: 1500 }, [
      "response.warning_duration",
      "is not shorter than critical_duration (1.5 s, not below 1.5 s): the warning is never reached",
    ]],
    "a limit that the timeout forestalls": [{ criticalDurationMs: 10_000, timeoutMs: 10_000 }, [
      "response.critical_duration",
      "is not shorter than the timeout (10 s, not below 10 s), which comes first",
    ]],
    "something expected of no body": [{ method: "HEAD", json: { "$.a": 1 } }, [
      "request.method",
      "a response to HEAD has no body to compare",
    ]],
    "tls of a plain URL": [{ request: { tls: { caFile: "/a" } } }, [
      "request.tls",
      "has no effect for http:, except after a redirect to https:",
    ], "http://example.org/"],
    "a redirect that is expected and rejected": [{
      statusCode: [200, "3xx"],
      request: { redirects: "refuse" },
    }, ["request.redirects", "rejects only redirects that status_code does not expect"]],
    "a redirect that is expected and followed": [{ statusCode: 301, request: { redirects: "follow" } }, [
      "request.redirects",
      "redirects are followed, so status_code gets a 3xx only without a Location",
    ]],
  };
  await testRows(t, rows, ([expectations, expected, target = "https://example.org/"]) => {
    const found = findRequestWarnings(httpCheck(target, expectations));
    assert.deepEqual(
      found.map(({ path, message }) => [path.join("."), message]),
      expected === undefined || expected === null ? [] : [expected],
    );
  });
});
