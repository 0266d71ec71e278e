/** The expectations of an `http_request` check besides status, headers and a text. */
import assert from "node:assert/strict";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { httpRequestKind } from "../../src/checks/http_request.ts";
import type { Clock } from "../../src/domain/clock.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { httpCheck, type HttpExpectations, observeTarget } from "../support/http_check.ts";
import { response, startAnswering, startServer } from "../support/http_servers.ts";

Deno.test("observeHttpRequest() accepts a status, a class or a list of both", async (t) => {
  const rows: readonly {
    status: number;
    statusCode: NonNullable<HttpExpectations["statusCode"]>;
    output?: string;
  }[] = [
    { status: 204, statusCode: "2xx" },
    { status: 299, statusCode: "2xx" },
    { status: 304, statusCode: [200, "3xx"] },
    { status: 200, statusCode: [200, "3xx"] },
    { status: 404, statusCode: "2xx", output: "status is 404, expected 2xx" },
    { status: 404, statusCode: [200, 403, "5xx"], output: "status is 404, expected 200 or 403 or 5xx" },
  ];
  for (const { status, statusCode, output } of rows) {
    await t.step(`${status} of ${statusCode}`, async () => {
      await using server = startAnswering(response(status));
      const checkResult = await observeTarget(server.origin, { statusCode });
      assert.equal(checkResult.output, output ?? `status is ${status}`);
    });
  }
});

Deno.test("observeHttpRequest() follows redirects, returns them, or rejects them", async (t) => {
  const rows: readonly { name: string; expectations: HttpExpectations; visits: number; output: string }[] = [
    { name: "followed", expectations: {}, visits: 2, output: "status is 200 (redirected to ORIGIN/next)" },
    {
      name: "followed if configured",
      expectations: { request: { redirects: "follow" } },
      visits: 2,
      output: "status is 200 (redirected to ORIGIN/next)",
    },
    { name: "expected by class", expectations: { statusCode: "3xx" }, visits: 1, output: "status is 302" },
    {
      name: "expected in a list",
      expectations: { statusCode: [200, 302] },
      visits: 1,
      output: "status is 302",
    },
    {
      name: "another one expected",
      expectations: { statusCode: [200, 301] },
      visits: 1,
      output: "status is 302, expected 200 or 301",
    },
    {
      name: "expected, and followed nevertheless",
      expectations: { statusCode: [200, "3xx"], request: { redirects: "follow" } },
      visits: 2,
      output: "status is 200 (redirected to ORIGIN/next)",
    },
    {
      name: "refused",
      expectations: { request: { redirects: "refuse" } },
      visits: 1,
      output: "status is 302, a redirect to ORIGIN/next, expected none",
    },
    {
      name: "rejected with any expected status",
      expectations: { statusCode: null, request: { redirects: "refuse" } },
      visits: 1,
      output: "status is 302, a redirect to ORIGIN/next, expected none",
    },
    {
      name: "rejected but expected",
      expectations: { statusCode: 302, request: { redirects: "refuse" } },
      visits: 1,
      output: "status is 302",
    },
  ];
  for (const { name, expectations, visits, output } of rows) {
    await t.step(name, async () => {
      await using server = startServer(async (visitor) => {
        const head = await visitor.readHead();
        await visitor.send(
          head.startsWith("GET / ") ? response(302, { Location: "/next?token=abc" }) : response(200),
        );
      });
      const checkResult = await observeTarget(`${server.origin}/`, expectations);
      assert.equal(checkResult.output, output.replace("ORIGIN", server.origin));
      assert.equal(checkResult.condition, output.includes("expected") ? "critical" : "ok");
      assert.equal(server.visits, visits);
    });
  }
  await t.step("rejected, to a URL without http", async () => {
    await using server = startAnswering(response(302, { Location: "ftp://user:pass@host/" }));
    const checkResult = await observeTarget(server.origin, { request: { redirects: "refuse" } });
    assert.equal(
      checkResult.output,
      "status is 302, a redirect to a URL without http: or https:, expected none",
    );
  });
  await t.step("rejected, and none came", async () => {
    await using server = startAnswering(response(404));
    const checkResult = await observeTarget(server.origin, { request: { redirects: "refuse" } });
    assert.equal(checkResult.output, "status is 404, expected 200");
  });
});

Deno.test("observeHttpRequest() searches the body, and lists failures in order", async (t) => {
  const body = '{"status": "degraded", "queue": 7, "message": "Internal Server Error 12"}';
  const rows: readonly { name: string; expectations: HttpExpectations; output: string }[] = [
    { name: "a missing text", expectations: { notBodyPart: "fatal" }, output: "status is 200" },
    {
      name: "a text that is present",
      expectations: { notBodyPart: "Internal Server Error" },
      output: 'body contains "Internal Server Error", expected not to',
    },
    { name: "a pattern", expectations: { bodyPattern: '"queue": \\d+,' }, output: "status is 200" },
    {
      name: "a pattern without a match",
      expectations: { bodyPattern: '"queue": \\d{2,}' },
      output: 'body does not match ""queue": \\d{2,}"',
    },
    {
      name: "a pattern rightly without one",
      expectations: { notBodyPattern: "(?i)fatal" },
      output: "status is 200",
    },
    {
      name: "a pattern that matches",
      expectations: { notBodyPattern: "(?i)error \\d+" },
      output: 'body matches "(?i)error \\d+", expected no match',
    },
    { name: "JSON", expectations: { json: { "$.queue": { lessThan: 10 } } }, output: "status is 200" },
    {
      name: "everything",
      expectations: {
        statusCode: 204,
        headers: { "X-A": "1" },
        bodyPart: "well",
        notBodyPart: "degraded",
        bodyPattern: "^\\[",
        notBodyPattern: "queue",
        json: { "$.status": "up", "$.queue": { lessThan: 5 } },
        criticalDurationMs: 1e-6,
      },
      output:
        'status is 200, expected 204; header "X-A" is missing, expected "1"; body does not contain "well"; ' +
        'body contains "degraded", expected not to; body does not match "^\\["; ' +
        'body matches "queue", expected no match; json "$.status" is "degraded", expected "up"; ' +
        'json "$.queue" is 7, expected a number less than 5; took',
    },
  ];
  for (const { name, expectations, output } of rows) {
    await t.step(name, async () => {
      await using server = startAnswering(response(200, {}, body));
      const checkResult = await observeTarget(server.origin, expectations);
      assert.equal(checkResult.output.replace(/took .*/, "took"), output);
      assert.equal(checkResult.condition, output === "status is 200" ? "ok" : "critical");
    });
  }
});

Deno.test("observeHttpRequest() terminates for hostile bodies", async (t) => {
  const rows: readonly {
    name: string;
    body: string;
    expectations: HttpExpectations;
    condition?: string;
    output: RegExp;
  }[] = [
    {
      name: "one that causes exponential backtracking elsewhere",
      body: `${"a".repeat(2 ** 20)}!`,
      expectations: { bodyPattern: "^(a+)+$" },
      output: /^body does not match "\^\(a\+\)\+\$" in its first \d+ characters$/,
    },
    {
      name: "JSON without a bottom",
      body: "[".repeat(500_000),
      expectations: { json: { "$..*": { exists: true } } },
      output: /^body is not JSON$/,
    },
    {
      name: "JSON with excessive nesting",
      body: "[".repeat(200_000) + "]".repeat(200_000),
      expectations: { json: { "$..*": { exists: true } } },
      condition: "unknown",
      output: /^body is JSON nested deeper than 100 levels$/,
    },
    {
      name: "JSON of 12 MiB",
      body: `[${"0,".repeat(6 * 2 ** 20)}0]`,
      expectations: { json: { "$[0]": 0 } },
      condition: "unknown",
      output: /^body is too long for JSON, at most 1048576 characters are read$/,
    },
    {
      name: "the same, and another failure",
      body: `[${"0,".repeat(6 * 2 ** 20)}0]`,
      expectations: { bodyPattern: "1", json: { "$[0]": 0 } },
      output: /^body does not match "1" .*; body is too long for JSON, at most 1048576 characters are read$/,
    },
  ];
  for (const { name, body, expectations, condition = "critical", output } of rows) {
    await t.step(name, async () => {
      await using server = startAnswering(response(200, {}, body));
      const checkResult = await observeTarget(server.origin, expectations);
      assert.match(checkResult.output, output);
      assert.equal(checkResult.condition, condition);
      await server.untilLeft();
    });
  }
});

Deno.test("observeHttpRequest() is unknown if the body may have a text behind what it can search", async (t) => {
  const long = "a".repeat(2 ** 20);
  const rows: readonly {
    name: string;
    body: string;
    expectations: HttpExpectations;
    type?: string;
    output: RegExp;
  }[] = [
    {
      name: "a pattern",
      body: `${long.slice(0, -1)}b`,
      expectations: { notBodyPattern: "b{1,30}" },
      output: /^cannot search all of the body for "b\{1,30\}": it has more than \d+ characters$/,
    },
    {
      name: "a pattern that only the cut would match",
      body: `${long}b`,
      expectations: { notBodyPattern: "[^a]" },
      output: /^cannot search all of the body for "\[\^a\]": it has more than \d+ characters$/,
    },
    {
      name: "a text",
      body: `${long.repeat(10)}b`,
      expectations: { notBodyPart: "b" },
      output: /^cannot search all of the body for "b": it has more than 10 MiB$/,
    },
    {
      name: "in a charset that is not known",
      body: "fine",
      type: "text/html; charset=EBCDIC",
      expectations: { notBodyPart: "b", notBodyPattern: "c" },
      output:
        /^cannot search all of the body for "b": its charset "EBCDIC" is unknown; cannot search all of the body for "c": its/,
    },
  ];
  for (const { name, body, expectations, type = "text/plain", output } of rows) {
    await t.step(name, async () => {
      await using server = startAnswering(response(200, { "Content-Type": type }, body));
      const result = await observeTarget(server.origin, expectations);
      assert.match(result.output, output);
      assert.equal(result.condition, "unknown");
      await server.untilLeft();
    });
  }
});

/** A clock with fixed durations: from the start to the head, and to the end of the body. */
function measuring(headMs: number, totalMs: number): Clock {
  const times = [5000, 5000 + headMs, 5000 + totalMs];
  return { ...createRealClock(), monotonicMs: () => times.shift() ?? 5000 + totalMs };
}

Deno.test("observeHttpRequest() compares the duration with its limits", async (t) => {
  const limits = { warningDurationMs: 1000, criticalDurationMs: 2500 };
  const rows: readonly {
    name: string;
    totalMs: number;
    expectations?: HttpExpectations;
    condition: string;
    output: string;
  }[] = [
    { name: "fast", totalMs: 1000, condition: "ok", output: "status is 200" },
    { name: "slow", totalMs: 2399, condition: "warning", output: "took 2.3 s, warning above 1 s" },
    {
      name: "just too slow",
      totalMs: 1000.5,
      condition: "warning",
      output: "took just over 1 s, warning above 1 s",
    },
    { name: "very slow", totalMs: 2600, condition: "critical", output: "took 2.6 s, critical above 2.5 s" },
    {
      name: "very slow, as a warning",
      totalMs: 2600,
      expectations: { asWarning: true },
      condition: "warning",
      output: "took 2.6 s, critical above 2.5 s",
    },
    {
      name: "slow and wrong",
      totalMs: 1500,
      expectations: { bodyPart: "well" },
      condition: "critical",
      output: 'body does not contain "well"; took 1.5 s, warning above 1 s',
    },
    {
      name: "slow and wrong, as a warning",
      totalMs: 1500,
      expectations: { bodyPart: "well", asWarning: true },
      condition: "warning",
      output: 'body does not contain "well"; took 1.5 s, warning above 1 s',
    },
    {
      name: "below a second",
      totalMs: 700.9,
      expectations: { warningDurationMs: 250 },
      condition: "warning",
      output: "took 700 ms, warning above 250 ms",
    },
    {
      name: "below a millisecond",
      totalMs: 0.42,
      expectations: { warningDurationMs: 0.1 },
      condition: "warning",
      output: "took 0.4 ms, warning above 0.1 ms",
    },
    {
      name: "just above a fraction",
      totalMs: 1260,
      expectations: { warningDurationMs: 1250 },
      condition: "warning",
      output: "took just over 1.25 s, warning above 1.25 s",
    },
  ];
  for (const { name, totalMs, expectations, condition, output } of rows) {
    await t.step(name, async () => {
      await using server = startAnswering(response(200, {}, "text"));
      const run = { ...limits, ...expectations, clock: measuring(120.25, totalMs) };
      const checkResult = await observeTarget(server.origin, run);
      assert.deepEqual([checkResult.condition, checkResult.output], [condition, output]);
      const total = Math.round(totalMs * 10) / 10;
      assert.deepEqual(checkResult.metrics, { status: 200, head_ms: 120.3, total_ms: total });
    });
  }
  await t.step("the duration includes a body that is not searched", async () => {
    await using server = startServer(async (visitor) => {
      await visitor.readHead();
      await visitor.send("HTTP/1.1 200 OK\r\ncontent-length: 300000\r\n\r\n");
      await visitor.send("a".repeat(300_000));
      await visitor.untilGone();
    });
    const checkResult = await observeTarget(server.origin, {
      ...limits,
      bodyPart: "a",
      clock: measuring(1, 2),
    });
    assert.equal(checkResult.output, "status is 200");
  });
});

Deno.test("observeHttpRequest() measures the time to the head, or to the end if the body is read", async () => {
  await using server = startAnswering(response(200, {}, "text"));
  const head = await observeTarget(server.origin, { clock: measuring(12.34, 99) });
  assert.deepEqual(head.metrics, { status: 200, head_ms: 12.3 });
  const both = await observeTarget(server.origin, { bodyPart: "text", clock: measuring(12.34, 99) });
  assert.deepEqual(both.metrics, { status: 200, head_ms: 12.3, total_ms: 99 });
});

Deno.test("httpRequestKind.requiredPermissions() names the target and the files of tls", () => {
  const tls = { caFile: "/a.pem", certificate: "/c.pem", key: "/k.pem" };
  assert.deepEqual(
    httpRequestKind.requiredPermissions(
      httpCheck("https://example.org/", { request: { tls } }),
      createMemorySystem(),
    ),
    {
      net: ["example.org:443"],
      read: ["/a.pem", "/c.pem", "/k.pem"],
      env: ["DENO_TLS_CA_STORE"],
    },
  );
});
