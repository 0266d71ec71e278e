import assert from "node:assert/strict";
import {
  response,
  startAnswering,
  startRefusing,
  startServer,
  type TestServer,
} from "../../support/http_servers.ts";
import { httpCheck, type HttpExpectations, observeAnswer, observeTarget } from "../../support/http_check.ts";
import { fieldsOf, testRows, testTable } from "../../support/rows.ts";
import { httpRequestKind } from "../../../src/checks/http_request.ts";
import type { HttpMessage } from "../../../src/domain/generated/config.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { observeConnection } from "../../support/connection_check.ts";
import { problemTexts } from "../../support/observe_check.ts";

/** Starts a server with a table of responses by path. */
function startPaths(paths: Readonly<Record<string, string>>): TestServer {
  return startServer(async (visitor) => {
    const [, path = ""] = (await visitor.readHead()).split(" ");
    await visitor.send(paths[path] ?? response(404));
  });
}

/** Method and path of each request that came. */
function asked(server: TestServer): readonly string[] {
  return server.heads.map((head) => head.split(" HTTP/")[0] ?? "");
}

Deno.test("askFollowing() returns other 3xx statuses as responses", async () => {
  for (const status of [300, 304, 305, 306, 399]) {
    const { output } = await observeAnswer(response(status, { location: "/new" }));
    assert.equal(output, `status is ${status}, expected 200`);
  }
});

Deno.test("askFollowing() resolves a Location relative to its own URL", async (t) => {
  const rows = {
    "new": "/a/new",
    "../new?b=c": "/new?b=c",
    "/grün": "/gr%C3%BCn",
    "/with space": "/with%20space",
  };
  await testRows(t, rows, async (then, location) => {
    await using server = startPaths({ "/a/old": response(302, { location }), [then]: response(200) });
    await observeTarget(`${server.origin}/a/old`);
    assert.deepEqual(asked(server), ["GET /a/old", `GET ${then}`]);
  });
});

Deno.test("askFollowing() returns the error of an invalid Location", async (t) => {
  const rows = {
    "": "redirect (status 302) has an empty Location",
    "http://[half": "redirect (status 302) has a Location that is not a URL",
    "file:///etc/passwd": 'redirect (status 302) leads to "file:", expected http: or https:',
  };
  await testRows(t, rows, async (expected, location) => {
    for (const statusCode of [200, null]) {
      const { condition, output, metrics } = await observeAnswer(response(302, { location }), { statusCode });
      assert.deepEqual([condition, output, metrics["status"]], ["critical", expected, 302]);
    }
  });
  const outputOf = async (run: object) => (await observeAnswer(response(302), run)).output;
  assert.equal(await outputOf({}), "status is 302 without a Location, expected 200");
  assert.equal(await outputOf({ statusCode: null }), "status is 302");
});

Deno.test("askFollowing() follows ten redirects and no more", async (t) => {
  const startChain = (length: number) =>
    startServer(async (visitor) => {
      await visitor.readHead();
      const location = `/${visitor.number + 1}`;
      await visitor.send(visitor.number < length ? response(302, { location }) : response(200));
    });
  await t.step("ten", async () => {
    await using server = startChain(10);
    const { output } = await observeTarget(`${server.origin}/0`);
    assert.equal(output, `status is 200 (redirected to ${server.origin}/10)`);
    assert.equal(server.visits, 11);
  });
  await t.step("eleven", async () => {
    await using server = startChain(11);
    const { condition, output, metrics } = await observeTarget(`${server.origin}/0`, { asWarning: true });
    assert.equal(
      `${condition}: ${output}`,
      `warning: more than 10 redirects (redirected to ${server.origin}/10)`,
    );
    assert.deepEqual([metrics, server.visits], [{ status: 302 }, 11]);
    await server.untilLeft();
  });
  await t.step("a loop", async () => {
    await using server = startPaths({
      "/": response(302, { location: "/a" }),
      "/a": response(302, { location: "/b" }),
      "/b": response(307, { location: "/a#again" }),
    });
    const { output } = await observeTarget(`${server.origin}/`);
    assert.equal(output, `redirect loop, left after 10 redirects (redirected to ${server.origin}/b)`);
    assert.equal(server.visits, 11);
    await server.untilLeft();
  });
});

Deno.test("askFollowing() keeps credentials to their origin", async (t) => {
  const authorization = (server: TestServer) =>
    server.heads.map((head) => /^authorization: (.*)\r$/im.exec(head)?.[1] ?? "none");
  const own = `Basic ${btoa("user:password")}`;
  const withCredentials = (server: TestServer) => `http://user:password@127.0.0.1:${server.port}/old`;

  /** Redirects the first request, and accepts every other one. */
  const startRedirecting = (locationOf: () => string) =>
    startServer(async (visitor) => {
      await visitor.readHead();
      await visitor.send(visitor.number === 0 ? response(302, { location: locationOf() }) : response(200));
    });
  await t.step("an absolute Location of the same origin", async () => {
    await using server = startRedirecting(() => `${server.origin}/new`);
    await observeTarget(withCredentials(server));
    assert.deepEqual(authorization(server), [own, own]);
  });
  for (const from of [0, "http:".length]) {
    await t.step(`another origin, named ${from > 0 ? "without" : "with"} its scheme`, async () => {
      await using other = startAnswering(response(200));
      await using server = startRedirecting(() => `${other.origin.slice(from)}/new`);
      const { output } = await observeTarget(withCredentials(server));
      assert.deepEqual([authorization(server), authorization(other)], [[own], ["none"]]);
      assert.equal(output, `status is 200 (redirected to ${other.origin}/new)`);
    });
  }
  await t.step("there and back", async () => {
    await using server = startRedirecting(() => `${other.origin}/`);
    await using other = startRedirecting(() => `${server.origin}/new`);
    await observeTarget(withCredentials(server));
    assert.deepEqual(authorization(server), [own, "none"]);
  });
});

Deno.test("http_request connects to connect_to, with a permission for that host alone", async () => {
  await using other = startAnswering(response(200));
  await using server = startAnswering(response(302, { location: `${other.origin}/there` }));
  const request = { connectTo: "127.0.0.1" };
  const check = httpCheck(`http://www.example.test:${server.port}/`, { request });
  const { condition, output } = await observeConnection(check);
  assert.deepStrictEqual([condition, output], ["ok", `status is 200 (redirected to ${other.origin}/there)`]);
  assert.match(
    server.heads[0] ?? "",
    new RegExp(`^GET / .*\r\nhost: www\\.example\\.test:${server.port}\r\n`),
  );
  const { net } = await httpRequestKind.requiredPermissions(check, createMemorySystem());
  assert.deepStrictEqual(net, [`127.0.0.1:${server.port}`]);
});

Deno.test("http_request names the place to which it connected", async () => {
  using refusing = await startRefusing();
  const { port } = refusing;
  const check = httpCheck(`http://www.example.test:${port}/`, { request: { connectTo: "127.0.0.1" } });
  assert.strictEqual(
    (await observeConnection(check)).output,
    `connecting to 127.0.0.1:${port} failed: connection refused`,
  );
});

Deno.test("httpRequestKind rejects other connections for https:, in steps, and a socket with other ones", () => {
  const errorsOf = (target: string, request: Partial<HttpMessage>) =>
    problemTexts(httpRequestKind.errors?.(httpCheck(target, { request })));
  const all = { socket: "/a", connectTo: "a", everyAddress: true };
  const reason = "requires http:, the client of https: connects to its host alone";
  assert.deepStrictEqual(errorsOf("https://a/", all), [
    `request.socket: "socket" ${reason}`,
    `request.connect_to: "connect_to" ${reason}`,
    `request.every_address: "every_address" ${reason}`,
  ]);
  assert.deepStrictEqual(errorsOf("http://a/", all), [
    'request.connect_to: "connect_to" cannot be used with "socket": remove one of them',
    'request.every_address: "every_address" cannot be used with "socket": remove one of them',
  ]);
  assert.deepStrictEqual(errorsOf("http://a/", { connectTo: "a", everyAddress: true }), []);
  const check = httpCheck("http://a/");
  const request = { target: "http://a/", method: "GET", everyAddress: true } as const;
  const { request: _none, ...parameters } = check.parameters;
  const steps = [{ request, response: { statusCode: 200, headers: {} }, always: false }];
  const [error] = httpRequestKind.errors?.({ ...check, parameters: { ...parameters, steps } }) ?? [];
  assert.deepStrictEqual(error, {
    path: ["steps", 0, "request", "every_address"],
    message: "cannot be used in steps",
  });
});

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
    problemTexts(httpRequestKind.errors?.(httpCheck("https://example.org/", settings)));
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
    problemTexts(httpRequestKind.warnings?.(httpCheck(target, { timeoutMs: 10_000, ...settings })));
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
