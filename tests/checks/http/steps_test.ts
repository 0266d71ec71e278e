/** Several requests in a row, against a service with a login. */
import assert from "node:assert/strict";
import { httpRequestKind } from "../../../src/checks/http_request.ts";
import type { CheckOf, CheckResult } from "../../../src/domain/check.ts";
import { load } from "../../../testing/config_system.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { httpContext } from "../../support/http_check.ts";
import { response, startAnswering, startServer } from "../../support/http_servers.ts";
import { problemTexts } from "../../support/observe_check.ts";
import { type Rows, testRows } from "../../support/rows.ts";

const TOKEN = "swordfish/&=1";

/** Starts a service that requires a token and the cookie of a login, and records its requests. */
function startService(): AsyncDisposable & { readonly origin: string; readonly log: readonly string[] } {
  const log: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const url = new URL(request.url);
    const body = await request.text();
    const cookie = request.headers.get("cookie") ?? "none";
    log.push(`${request.method} ${url.pathname}${url.search} cookie=${cookie} body=${body}`);
    const isIn = request.headers.get("authorization") === `Bearer ${TOKEN}` &&
      cookie.includes("sid=cookie-value");
    switch (url.pathname) {
      case "/login": {
        const headers = new Headers({ Location: "/welcome" });
        headers.append("Set-Cookie", "sid=cookie-value; Path=/; HttpOnly");
        headers.append("Set-Cookie", "old=1; Max-Age=0");
        return new Response(null, { status: 302, headers });
      }
      case "/welcome":
        return Response.json({ token: TOKEN, id: 7, list: [] }, { headers: { "X-Next": "/items?page=2" } });
      case "/items":
        return isIn ? Response.json({ items: [1, 2] }) : new Response(`no: ${cookie}`, { status: 403 });
      case "/echo":
        return new Response(`you sent ${request.headers.get("authorization")} and ${cookie}`);
      default:
        return new Response("bye");
    }
  });
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    log,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function checkOf(steps: unknown, others: object = {}): Promise<CheckOf<"http_request">> {
  const parameters = { steps, ...others };
  const { checks: [check] } = await load({
    defaults: {},
    checks: { flow: { kind: "http_request", parameters } },
  });
  if (check?.kind !== "http_request") throw new Error("The config has one check");
  return check;
}

async function observe(steps: unknown, others: object = {}): Promise<CheckResult> {
  return await httpRequestKind.observe(await checkOf(steps, others), httpContext());
}

const login = (origin: string): object => ({
  name: "log in",
  request: { target: `${origin}/login`, method: "POST", body: "user=monitor" },
  capture: {
    token: { json: "$.token" },
    page: { header: "X-Next", pattern: "page=(\\d+)" },
    id: { pattern: '"id":(\\d)' },
  },
});
const call = (origin: string, authorization = "Bearer ${captured:token}"): object => ({
  name: "call",
  request: {
    target: `${origin}/items?page=\${captured:page}&token=\${captured:token}`,
    method: "POST",
    headers: { Authorization: authorization, "Content-Type": "application/json" },
    body: '{"token": "${captured:token}", "id": ${captured:id}}',
  },
  response: { json: { "$.items": { length: 2 } } },
});
const logout = (origin: string): object => ({
  name: "log out",
  always: true,
  request: { target: `${origin}/logout`, headers: { "X-Token": "${captured:token}" } },
});

Deno.test("observeSteps() logs in, calls with captured values and cookies, and logs out", async () => {
  await using service = startService();
  const { origin, log } = service;
  const result = await observe([login(origin), call(origin), logout(origin)]);
  assert.deepEqual([result.condition, result.output], ["ok", "3 steps passed"]);
  assert.deepEqual(Object.keys(result.metrics), [
    "step_log_in_ms",
    "status",
    "step_call_ms",
    "step_log_out_ms",
    "total_ms",
  ]);
  assert.deepEqual(log, [
    "POST /login cookie=none body=user=monitor",
    "GET /welcome cookie=sid=cookie-value body=",
    `POST /items?page=2&token=swordfish%2F%26%3D1 cookie=sid=cookie-value body={"token": "${TOKEN}", "id": 7}`,
    "GET /logout cookie=sid=cookie-value body=",
  ]);
});

Deno.test("observeSteps() stops at a step that fails, and runs those with always", async () => {
  await using service = startService();
  const { origin, log } = service;
  const steps = [
    login(origin),
    call(origin, "none"),
    { request: { target: `${origin}/never` } },
    logout(origin),
  ];
  const result = await observe(steps);
  assert.equal(result.condition, "critical");
  assert.equal(result.output, "call: status is 403, expected 200; body is not JSON");
  assert.equal(result.metrics["status"], 403);
  assert.deepEqual(log.map((line) => line.split(" ")[1]?.split("?")[0]), [
    "/login",
    "/welcome",
    "/items",
    "/logout",
  ]);
  assert.equal((await observe(steps, { as_warning: true })).condition, "warning");
});

Deno.test("observeSteps() skips a step with always whose captured value is missing, and returns the reasons", async () => {
  await using service = startService();
  const { origin, log } = service;
  const capture = (path: string, capture: object) => ({ request: { target: `${origin}${path}` }, capture });
  const failing = capture("/other", {
    token: { json: "$.token" },
    id: { header: "X-Id" },
    word: { pattern: "hello (\\w+)" },
  });
  const { condition, output } = await observe([failing, logout(origin)]);
  assert.equal(condition, "critical");
  assert.equal(
    output,
    'step 1: cannot capture "token": body is not JSON; cannot capture "id": header "X-Id" is missing; ' +
      'cannot capture "word": no match of "hello (\\w+)"',
  );
  assert.equal(log.length, 1);
  const found = await observe([capture("/welcome", { a: { json: "$.list" }, b: { json: "$.none" } })]);
  assert.equal(
    found.output,
    'step 1: cannot capture "a": json "$.list" finds no text or number; cannot capture "b": json "$.none" finds nothing',
  );
});

Deno.test("observeSteps() captures a number as it is written, and hides it", async () => {
  await using server = startAnswering(
    response(200, {}, '{"id": 12345678901234567890, "price": 1.50, "at": 1e400}'),
  );
  const { origin, heads } = server;
  const { output } = await observe([{
    request: { target: origin },
    response: { json: { "$.id": 1 } },
    capture: { id: { json: "$.id" }, price: { json: "$.price" }, at: { json: "$.at" } },
  }, {
    always: true,
    request: { target: `${origin}/\${captured:id}/\${captured:price}/\${captured:at}` },
    response: { json: { "$.id": 2 } },
  }]);
  assert.equal(heads[1]?.split(" ")[1], "/12345678901234567890/1.50/1e400");
  assert.equal(
    output,
    'step 1: json "$.id" is [secret], expected 1; step 2: json "$.id" is [secret], expected 2',
  );
});

Deno.test("observeSteps() sends cookies back as they came", async () => {
  const rows = {
    "in UTF-8": ["a=s\u00fc\u00df", "a=s\u00fc\u00df"],
    "Max-Age without a number": ["a=1; Max-Age=", "a=1"],
    "Max-Age that has passed": ["a=1; Max-Age=-1", ""],
  } as const;
  for (const [name, [cookie, expected]] of Object.entries(rows)) {
    const sent: string[] = [];
    const { system, ...context } = httpContext();
    const send: typeof system.requests.send = (request, signal) => {
      sent.push(request.headers["cookie"] ?? "");
      return system.requests.send(request, signal);
    };
    await using server = startAnswering(response(200, { "Set-Cookie": cookie }));
    const check = await checkOf([{ request: { target: server.origin } }, {
      request: { target: server.origin },
    }]);
    await httpRequestKind.observe(check, {
      ...context,
      system: { ...system, requests: { ...system.requests, send } },
    });
    assert.deepEqual(sent, ["", expected], name);
  }
});

Deno.test("observeSteps() hides few values if a response sets one cookie again and again", async () => {
  const hidden: string[] = [];
  const cookies = Array.from({ length: 2000 }, (_, index) => `Set-Cookie: a=value-${index}\r\n`).join("");
  await using server = startAnswering(`HTTP/1.1 200 OK\r\n${cookies}Content-Length: 0\r\n\r\n`);
  const step = { request: { target: server.origin } };
  const check = await checkOf([step, step]);
  await httpRequestKind.observe(check, { ...httpContext(), hide: (values) => void hidden.push(...values) });
  assert.deepEqual(hidden, ["value-1999"]);
});

Deno.test("observeSteps() has one timeout for all, and names the step", async () => {
  const clock = createFakeClock();
  await using server = startServer(async (visitor) => {
    const head = await visitor.readHead();
    if (!head.startsWith("GET /slow")) return await visitor.send(response(200));
    void clock.advance(300);
    await visitor.untilGone();
  });
  const { origin } = server;
  const slow = { name: "wait", request: { target: `${origin}/slow` } };
  const check = await checkOf([{ request: { target: origin } }, slow, {
    always: true,
    request: { target: origin },
  }]);
  const result = await httpRequestKind.observe({ ...check, timeoutMs: 300 }, httpContext({ clock }));
  assert.equal(result.condition, "critical");
  assert.equal(result.output, `wait: timeout after 0.3 s, before a response head from ${origin.slice(7)}`);
});

Deno.test("observeSteps() fails if the timeout ends between two steps", async () => {
  await using server = startAnswering(response(200));
  const { origin } = server;
  const check = await checkOf([
    { request: { target: origin } },
    { name: "call", request: { target: `${origin}/never` } },
    { always: true, request: { target: `${origin}/never` } },
  ]);
  const clock = createFakeClock();
  const { system, ...context } = httpContext({ clock });
  const send: typeof system.requests.send = async (request, signal) => {
    const response = await system.requests.send(request, signal);
    // A trace may read on until the timeout before it closes the response.
    return { ...response, close: () => response.close().finally(() => clock.advance(300)) };
  };
  const { condition, output } = await httpRequestKind.observe({ ...check, timeoutMs: 300 }, {
    ...context,
    system: { ...system, requests: { ...system.requests, send } },
  });
  assert.deepEqual([condition, output], ["critical", "call: timeout after 0.3 s, before its request"]);
  assert.equal(server.visits, 1);
});

Deno.test("http_request rejects invalid steps", async (t) => {
  const step = (name?: string, request: object = {}): object => ({
    name,
    request: { target: "https://example.org/", ...request },
  });
  const captures = { ...step(), capture: { id: { header: "X-Id" } } };
  const sends = step("a", { headers: { "X-Id": "${captured:id}" } });
  const host = step("b", { target: "https://${captured:id}@example.org/" });
  const two = { ...step(), capture: { id: { header: "X-Id", json: "$.id" } } };
  const rows: Rows<[steps: readonly object[] | undefined, others?: object]> = {
    ': missing key "request" or "steps"': [undefined],
    "request: cannot be used with steps": [[step()], step()],
    "response: cannot be used with steps, expected it in each step": [
      [step()],
      { response: { body_part: "x" } },
    ],
    "steps.1.name: is too much like the name of step 1": [[step("a b"), step("A-b")]],
    'steps.0.request.headers.X-Id: no earlier step captures "id"': [[sends, captures]],
    "steps.1.request.target: has a captured value before its path, expected one in path or query": [
      [captures, host],
    ],
    'steps.0.capture.id.header: cannot be used with "json"': [[two]],
  };
  await testRows(t, rows, async ([steps, others], expected) => {
    assert.deepEqual(problemTexts(httpRequestKind.errors?.(await checkOf(steps, others))), [expected]);
  });
});

Deno.test("http_request requires the permissions of all its steps", async () => {
  const check = await checkOf([
    { request: { target: "https://example.org/" } },
    { request: { target: "https://example.org/x", tls: { ca_file: "/ca.pem" } } },
    { request: { target: "http://api.example.org/" } },
  ]);
  assert.deepEqual(await httpRequestKind.requiredPermissions(check, createMemorySystem()), {
    net: ["example.org:443", "api.example.org:80"],
    env: ["DENO_TLS_CA_STORE"],
    read: ["/ca.pem"],
  });
});
