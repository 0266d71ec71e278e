import assert from "node:assert/strict";
import { describeItem, describeState } from "../../src/channels/describe_item.ts";
import { webhookKind } from "../../src/channels/webhook.ts";
import type { ChannelOf } from "../../src/domain/channel.ts";
import type { Delivery } from "../../src/domain/delivery.ts";
import type { Notification } from "../../src/domain/outbox.ts";
import { TEMPLATE_FIELDS } from "../../src/shared/template.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import {
  deliverOver,
  type DeliveryFindings,
  type DeliverySettings,
  failure,
  makeItem,
  makeMessage,
  makeNotification,
} from "../support/channel_delivery.ts";
import {
  collectPorts,
  response,
  startAnswering,
  startRefusing,
  startServer,
  type Visitor,
} from "../support/http_servers.ts";
import { fieldsOf, type Rows, testRows, testTable } from "../support/rows.ts";

type Parameters = ChannelOf<"webhook">["parameters"];

function post(
  target: string,
  parameters: Partial<Parameters> = {},
  settings: DeliverySettings = {},
): Promise<DeliveryFindings> {
  return deliverOver(webhookKind, {
    kind: "webhook",
    key: "k",
    parameters: { target, method: "POST", headers: {}, timeoutMs: 120_000, ...parameters },
  }, settings);
}

interface Posted {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly text: string;
}

async function received(
  parameters: Partial<Parameters> = {},
  settings: DeliverySettings = {},
  path = "/hooks/x?y=z",
): Promise<{ readonly posted: readonly Posted[]; readonly findings: DeliveryFindings }> {
  const posted: Posted[] = [];
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    posted.push({ method, path: pathname + search, headers, text: await request.text() });
    return new Response(null, { status: 204 });
  });
  const findings = await post(`http://127.0.0.1:${server.addr.port}${path}`, parameters, settings);
  return { posted, findings };
}

/** The same of one notification; returns the first request. */
async function receivedOf(
  notification: Partial<Notification>,
  parameters: Partial<Parameters> = {},
): Promise<Posted> {
  const { posted: [first] } = await received(parameters, { message: makeMessage([makeItem(notification)]) });
  return first ?? assert.fail("it posted nothing");
}

Deno.test("webhookKind posts the notifications as JSON with an id for dropping the duplicate", async () => {
  const missed = makeNotification({ id: "report-0" });
  const cause = { checks: 4, sinceMs: Date.UTC(2026, 0, 31, 9, 58), text: "all connect to 192.0.2.7" };
  const message = makeMessage([
    { ...makeItem({ output: "it's down", detail: "line 1\nline 2", cause }), timeZone: "Europe/Zurich" },
    makeItem({ id: "report-2", check: "db", title: null, event: "recovery", condition: "ok" }, missed),
  ]);
  const { posted: [posted], findings } = await received({}, { message });
  assert.deepEqual(findings.delivery, { delivered: true, note: null });
  assert.deepEqual(findings.steps, ["accepted with status 204"]);
  assert.equal(`${posted?.method} ${posted?.path}`, "POST /hooks/x?y=z");
  assert.equal(posted?.headers.get("Content-Type"), "application/json");
  assert.equal(posted?.headers.get("Idempotency-Key"), "message-1");
  const output = "status is 500, expected 200";
  const report = {
    check: "web",
    title: "Website",
    event: "problem",
    condition: "critical",
    previous: "ok",
    problem_began_at: "2026-01-31T09:58:00.000Z",
    decided_at: "2026-01-31T10:00:00.000Z",
    occurrences: 3,
    next_run_at: "2026-01-31T10:01:00.000Z",
    host: "web1",
    acknowledged: null,
    flapping: false,
    dependents: 0,
  };
  const other = { id: "report-2", check: "db", title: null, event: "recovery", condition: "ok" };
  const rest = { test: false, summarized: 0 };
  assert.deepEqual(JSON.parse(posted?.text ?? ""), {
    notifications: [
      {
        ...{ ...report, ...rest, id: "report-1", output: "it's down", detail: "line 1\nline 2" },
        headline: "Website is critical: it's down",
        cause: "4 checks fail since 2026-01-31 10:58:00 +01:00: all connect to 192.0.2.7",
        missed_problem: null,
      },
      {
        ...{ ...report, ...other, ...rest, output, detail: "" },
        headline: `db was critical for 2 min and is ok again: ${output}`,
        missed_problem: { ...report, id: "report-0", output, detail: "" },
      },
    ],
  });
});

Deno.test("webhookKind sends the configured method and headers, whatever the case of their names", async () => {
  const headers = { "content-type": "text/plain", "AUTHORIZATION": "Bearer x", "idempotency-key": "mine" };
  const { posted: [posted] } = await received({ method: "PUT", headers, body: "{{check}}" });
  const seen = ["Content-Type", "Authorization", "Idempotency-Key"].map((name) => posted?.headers.get(name));
  assert.deepEqual([posted?.method, posted?.text, ...seen], ["PUT", "web", "text/plain", "Bearer x", "mine"]);
});

Deno.test("webhookKind fills fields in path, query and headers, each escaped for its place", async (t) => {
  const rows: Rows<[value: string, inUrl: string, inHeader: string]> = {
    "plain text": ["web", "web", "web"],
    "characters that end a segment, a query or a header": [
      "a/../b?c&d=e#f\r\nX-Evil: 1\0",
      "a%2F..%2Fb%3Fc%26d%3De%23f%0D%0AX-Evil%3A%201%00",
      "a/../b?c&d=e#f X-Evil: 1",
    ],
    "another server": ["@evil.example:1/", "%40evil.example%3A1%2F", "@evil.example:1/"],
    "the parent directory": ["..", "__", ".."],
    "no valid UTF-16": ["a\ud800", "a%EF%BF%BD", "a\ufffd"],
    "too much for a server": ["x".repeat(2000), `${"x".repeat(499)}%E2%80%A6`, `${"x".repeat(499)}…`],
  };
  await testRows(t, rows, async ([output, inUrl, inHeader]) => {
    const message = makeMessage([makeItem({ output })]);
    const headers = { "X-Output": "is {{ output }}" };
    const path = "/hooks/{{output}}/end?{{check}}={{output}}";
    const { posted } = await received({ headers, body: "{}" }, { message }, path);
    assert.equal(posted.length, 1);
    assert.equal(posted[0]?.path, `/hooks/${inUrl}/end?web=${inUrl}`);
    const bytes = Array.from(posted[0]?.headers.get("X-Output") ?? "", (letter) => letter.charCodeAt(0));
    assert.equal(new TextDecoder().decode(new Uint8Array(bytes)), `is ${inHeader}`);
    assert.equal(posted[0]?.headers.get("X-Evil"), null);
  });
});

Deno.test("webhookKind sends one notification in each request if its URL, headers or body have fields", async () => {
  const message = makeMessage([makeItem(), makeItem({ id: "report-2", check: "db" })]);
  const inHeader = await received({ headers: { "X-Check": "{{check}}" } }, { message });
  assert.deepEqual(inHeader.posted.map(({ headers }) => headers.get("X-Check")), ["web", "db"]);
  const checks = inHeader.posted.map(({ text }) =>
    JSON.parse(text).notifications.map(({ check }: { check: string }) => check)
  );
  assert.deepEqual(checks, [["web"], ["db"]]);
  const inUrl = await received({}, { message }, "/{{check}}");
  assert.deepEqual(inUrl.posted.map(({ path }) => path), ["/web", "/db"]);
  const inBody = await received({ body: "{{check}}" }, { message });
  assert.deepEqual(inBody.posted.map(({ text }) => text), ["web", "db"]);
  for (const { posted } of [inHeader, inUrl, inBody]) {
    assert.deepEqual(posted.map(({ headers }) => headers.get("Idempotency-Key")), ["report-1", "report-2"]);
  }
});

Deno.test("webhookKind escapes values of a body for its Content-Type", async (t) => {
  const output = 'a "b" & c=d\n+ü';
  const table = `
    none           |                                   | json
    JSON           | application/json; charset=utf-8   | json
    a kind of JSON | application/vnd.api+json          | json
    a form         | application/x-www-form-urlencoded | form
    plain text     | Text/Plain; charset=utf-8         | plain
    another type   | application/x-custom              | json`;
  const sent: Readonly<Record<string, string>> = {
    json: '=a \\"b\\" & c=d\\n+ü',
    form: "=a+%22b%22+%26+c%3Dd%0A%2B%C3%BC",
    plain: `=${output}`,
  };
  await testTable(t, table, async (_, type, form) => {
    const headers = type === "" ? {} : { "content-Type": type };
    assert.equal((await receivedOf({ output }, { headers, body: "={{output}}" })).text, sent[form]);
  });
});

Deno.test("webhookKind hides the text around fields in the URL and headers", async () => {
  await using server = startAnswering(response(400, {}, "no: hidden-path hidden-query hidden-header web"));
  const { delivery } = await post(`${server.origin}/hidden-path{{check}}?a={{check}}hidden-query`, {
    headers: { "X-Token": "hidden-header{{check}}" },
  });
  assert.deepEqual(delivery, failure("status is 400: no: [secret] [secret] [secret] web"));
});

Deno.test("webhookKind marks a test", async () => {
  const message = makeMessage(undefined, { isTest: true });
  const { posted: [whole] } = await received({}, { message });
  assert.equal(JSON.parse(whole?.text ?? "").notifications[0].test, true);
  const { posted: [filled] } = await received({ body: "{{test}} {{summary}}" }, { message });
  assert.match(filled?.text ?? "", /^true TEST Website \(web\) is critical/);
});

Deno.test("webhookKind escapes hostile outputs", async (t) => {
  const rows: Rows<[text: string, arrives?: string]> = {
    "quotes and backslashes": ['"}, "x": "\\" \\'],
    "line breaks, tabs and control characters": ["a\nb\r\nc\td\0\u0001\u001b[31m\u007f\u0085\u2028\u2029"],
    "placeholders": ["{{detail}} ${env:HOME} $& $1 $$"],
    "lone surrogates": ["a\ud800b\udc00😀", "a\ufffdb\ufffd😀"],
  };
  await testRows(t, rows, async ([text, arrives = text]) => {
    const texts = { output: text, title: text, detail: text };
    const body = '{"o": "{{output}}", "t": "{{ title }}", "d": "{{detail}}"}';
    const filled = await receivedOf(texts, { body });
    assert.deepEqual(JSON.parse(filled.text), { o: arrives, t: arrives, d: arrives });
    const whole = await receivedOf(texts);
    assert.equal(JSON.parse(whole.text).notifications[0].output, arrives);
  });
});

Deno.test("webhookKind fills every field of a template with the text of its value in JSON", async () => {
  const body = Object.fromEntries(TEMPLATE_FIELDS.map((field) => [field, `{{${field}}}`]));
  const { text } = await receivedOf({}, { body });
  const { summary, text: state, action, severity, ...others } = JSON.parse(text);
  const { text: whole } = await receivedOf({});
  const { missed_problem: _, ...fields } = JSON.parse(whole).notifications[0];
  assert.deepEqual(
    others,
    // Empty without a URL in the config.
    {
      description: "",
      duration: "2 min",
      kind: "",
      runbook: "",
      tags: "",
      target: "",
      time_zone: "UTC",
      url: "",
      acknowledge_url: "",
      ...Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value ?? "")])),
    },
  );
  assert.deepEqual([action, severity], ["trigger", "critical"]);
  assert.deepEqual([summary, state], [describeItem(makeItem()), describeState(makeItem())]);
});

Deno.test("webhookKind sends a JSON value as a form if the Content-Type is form-urlencoded", async () => {
  const headers = { "Content-Type": "application/x-www-form-urlencoded" };
  const choice = { "{{event}}": {} };
  const body = { To: "+49 1", Body: "{{output}}", n: 1, payload: { text: "{{check}}" }, no: choice };
  const { text } = await receivedOf({ output: "a&b=c ü\n" }, { headers, body });
  assert.deepEqual(Object.fromEntries(new URLSearchParams(text)), {
    To: "+49 1",
    Body: "a&b=c ü\n",
    n: "1",
    payload: '{"text":"web"}',
  });
});

Deno.test("webhookKind sends recoveries, and nothing else, to recovery_target", async () => {
  let head = "";
  await using other = startServer(async (visitor: Visitor) => {
    head = await visitor.readHead();
    await visitor.send(response(400, {}, "closed-with-secret web"));
  });
  const recoveryTarget = `${other.origin}/closed-with-secret/{{check}}/close`;
  const message = makeMessage([makeItem(), makeItem({ id: "report-2", event: "recovery", condition: "ok" })]);
  const { posted, findings } = await received({ recoveryTarget }, { message });
  assert.deepEqual(posted.map(({ path, text }) => [path, JSON.parse(text).notifications.length]), [[
    "/hooks/x?y=z",
    1,
  ]]);
  assert.deepEqual(findings.delivery, failure("status is 400: [secret] web"));
  assert.match(head, /^POST \/closed-with-secret\/web\/close /);
});

Deno.test("webhookKind sends user name and password of the URL as HTTP Basic", async () => {
  await using server = startAnswering(response(204));
  await post(server.origin.replace("//", "//AC1:s%26cret@"));
  assert.match(server.heads[0] ?? "", new RegExp(`^authorization: Basic ${btoa("AC1:s&cret")}\r$`, "im"));
});

const channelTo = (target: string, recoveryTarget?: string): ChannelOf<"webhook"> => ({
  kind: "webhook",
  key: "k",
  parameters: {
    target,
    method: "POST",
    headers: {},
    timeoutMs: 1,
    ...recoveryTarget !== undefined && { recoveryTarget },
  },
});

Deno.test("webhookKind requires the hosts of both its URLs", async () => {
  const needed = (target: string, recoveryTarget?: string) =>
    webhookKind.requiredPermissions(channelTo(target, recoveryTarget), createMemorySystem());
  assert.deepEqual(await needed("http://a/"), { net: ["a:80"] });
  assert.deepEqual(await needed("http://a/", "http://a/x"), { net: ["a:80"] });
  const { net, env } = await needed("http://a/", "https://b/x");
  assert.deepEqual([net, env], [["a:80", "b:443"], ["DENO_TLS_CA_STORE"]]);
});

Deno.test("webhookKind sends resolve only for a recovery", async () => {
  const body = "{{action}} {{severity}}";
  assert.equal((await receivedOf({ event: "recovery", condition: "ok" }, { body })).text, "resolve info");
  assert.equal((await receivedOf({ event: "change", condition: "unknown" }, { body })).text, "trigger error");
});

Deno.test("webhookKind limits the size of a request, of one notification and of a thousand", async () => {
  const MEGABYTE = 1024 * 1024;
  const item = makeItem({ output: "o".repeat(MEGABYTE), detail: "d".repeat(MEGABYTE) });
  const { posted: [one] } = await received({}, { message: makeMessage([item]) });
  const { output, detail } = JSON.parse(one?.text ?? "").notifications[0];
  assert.deepEqual([output, detail], [`${"o".repeat(8191)}…`, `${"d".repeat(65535)}…`]);
  const { posted: [many] } = await received({}, { message: makeMessage(Array(1000).fill(item)) });
  assert.equal(JSON.parse(many?.text ?? "").notifications.length, 1000);
  assert.ok((many?.text.length ?? Infinity) < MEGABYTE, `${many?.text.length}`);
});

/** The status and headers of a response, the failure, and whether it is retried, after so many milliseconds. */
const ANSWERS = `
  200 | delivered
  302 location=http://127.0.0.1:1/ | status is 302, and redirects are not followed
  403 retry-after=5   | status is 403
  408                 | status is 408 | retried
  425                 | status is 425 | retried
  429 retry-after=120 | status is 429 | retried 120000
  503 retry-after="Sat, 31 Jan 2026 10:01:30 GMT" | status is 503 | retried 90000
  503 retry-after="Sat, 31 Jan 2026 09:00:00 GMT" | status is 503 | retried 0
  503 retry-after="${"9".repeat(400)}" | status is 503 | retried 3600000
  503 retry-after="Saturday, 31-Jan-26 10:01:30 GMT" | status is 503 | retried 90000
  503 retry-after="Sat Jan 31 10:01:30 2026" | status is 503 | retried 90000
  503 retry-after=""  | status is 503 | retried
  503 retry-after=-5  | status is 503 | retried
  503 retry-after="5, 10" | status is 503 | retried
  503 retry-after="31 Jan 2026 10:01:30" | status is 503 | retried`;

const BODIES: Rows<[answer: string, delivery: Delivery]> = {
  "202 without an end": ["HTTP/1.1 202 OK\r\ncontent-length: 100\r\n\r\nx", { delivered: true, note: null }],
  "400 with words": [
    response(400, {}, "  invalid\u001b[31m\0payload\nmore "),
    failure("status is 400: invalid [31m payload more"),
  ],
  "401 with many words": [response(401, {}, "x".repeat(5000)), failure(`status is 401: ${"x".repeat(199)}…`)],
  "404 with a page for browsers": [
    response(404, { "content-type": "text/html; charset=utf-8" }, "<!DOCTYPE html><p>Cannot POST /hooks"),
    failure("status is 404"),
  ],
  "500 whose words end early": [
    "HTTP/1.1 500 Test\r\ncontent-length: 100\r\n\r\noops",
    failure("status is 500: oops…", { retryable: true }),
  ],
};

Deno.test("webhookKind classifies a response", async (t) => {
  // The wall clock stands; the timers run.
  const clock = { ...createRealClock(), wallMs: () => Date.UTC(2026, 0, 31, 10, 0) };
  await using ports = collectPorts();
  const check = async (answer: string, expected: Delivery): Promise<void> => {
    await using server = startAnswering(answer);
    const { delivery } = await post(server.origin, {}, { system: { clock } });
    assert.deepEqual(delivery, expected);
    ports.add(server.port);
  };
  await testTable(t, ANSWERS, async (answer, reason, retry) => {
    const [status, headers] = answer.split(/ (.*)/);
    const [retried, ms] = retry.split(" ");
    const facts = retried === ""
      ? {}
      : { retryable: true, retryAfterMs: ms === undefined ? null : Number(ms) };
    const given = Object.entries(fieldsOf<object>(headers ?? "")).map(([name, value]) => [name, `${value}`]);
    await check(
      response(Number(status), Object.fromEntries(given)),
      reason === "delivered" ? { delivered: true, note: null } : failure(reason, facts),
    );
  });
  await testRows(t, BODIES, ([answer, delivery]) => check(answer, delivery));
});

Deno.test("webhookKind retries if there is no response", async () => {
  await using closing = startServer(async (visitor) => void await visitor.readHead());
  using refusing = await startRefusing();
  const rows: readonly (readonly [origin: string, reason: RegExp, mayHaveArrived: boolean])[] = [
    [closing.origin, /^reading the response head from \S+ failed: connection (closed|reset) /, true],
    [`http://127.0.0.1:${refusing.port}`, /^connecting to \S+ failed: connection refused$/, false],
  ];
  for (const [origin, reason, mayHaveArrived] of rows) {
    const { delivery } = await post(`${origin}/hooks/hidden`);
    assert.ok(!delivery.delivered);
    assert.match(delivery.reason, reason);
    assert.deepEqual(delivery, failure(delivery.reason, { retryable: true, mayHaveArrived }));
  }
});

Deno.test("webhookKind aborts a response after its timeout, and goes by a status that arrived before", async () => {
  const rows: readonly (readonly [head: string, Delivery])[] = [
    ["", failure("no response within 0.2 s", { retryable: true, mayHaveArrived: true })],
    ["HTTP/1.1 400 Test\r\ncontent-length: 9\r\n\r\nxx", failure("status is 400: xx…")],
  ];
  for (const [head, expected] of rows) {
    await using server = startServer(async (visitor) => {
      await visitor.readHead();
      await visitor.send(head);
      await visitor.untilGone();
    });
    assert.deepEqual((await post(server.origin, { timeoutMs: 200 })).delivery, expected);
    await server.untilLeft();
  }
});

Deno.test("webhookKind throws its signal's reason when it aborts", async () => {
  const abort = new AbortController();
  await using server = startServer(async (visitor) => {
    await visitor.readHead();
    abort.abort(new Error("time is up"));
    await visitor.untilGone();
  });
  await assert.rejects(post(server.origin, {}, { signal: abort.signal }), /^Error: time is up$/);
});

Deno.test("webhookKind prints only the host of the URL", async (t) => {
  const target = "https://u:p@h.example:8443/hooks/T0KEN?k=1";
  assert.equal(webhookKind.describe(channelTo(target)), "webhook h.example:8443");
  const headers = { Authorization: "Bearer planted-header" };
  const rows = {
    path: "planted-path",
    query: "planted%20query",
    decoded: "planted query",
    header: "Bearer planted-header",
  };
  await testRows(t, rows, async (said) => {
    await using server = startAnswering(response(403, {}, `no entry for ${said}, go away`));
    const { delivery } = await post(`${server.origin}/hooks/planted-path?key=planted%20query`, { headers });
    assert.deepEqual(delivery, failure("status is 403: no entry for [secret], go away"));
  });
});
