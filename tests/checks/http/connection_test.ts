import assert from "node:assert/strict";
import { httpRequestKind } from "../../../src/checks/http_request.ts";
import type { HttpMessage } from "../../../src/domain/generated/config.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { observeConnection } from "../../support/connection_check.ts";
import { httpCheck } from "../../support/http_check.ts";
import { problemTexts } from "../../support/observe_check.ts";
import { response, startAnswering, startRefusing } from "../../support/http_servers.ts";

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
