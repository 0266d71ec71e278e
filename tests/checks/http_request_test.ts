import assert from "node:assert/strict";
import { httpRequestKind } from "../../src/checks/http_request.ts";
import type { CheckResult } from "../../src/domain/check.ts";
import type { Clock } from "../../src/domain/clock.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import {
  httpCheck,
  httpContext,
  type HttpExpectations,
  observeAnswer,
  observeTarget,
  withoutTimes,
} from "../support/http_check.ts";
import {
  response,
  startAnswering,
  startRefusing,
  startServer,
  type Visitor,
} from "../support/http_servers.ts";
import { problemTexts } from "../support/observe_check.ts";
import { fieldsOf, type Rows, testRows, testTable } from "../support/rows.ts";

type Meeting = (visitor: Visitor) => Promise<void>;

/** Answers with its output, condition and status; an expected status is ok. */
type Answers = Rows<[string | Uint8Array | Meeting, HttpExpectations, string]>;

async function testAnswers(t: Deno.TestContext, rows: Answers): Promise<void> {
  await testRows(t, rows, async ([answer, expectations, expected]) => {
    assert.equal(await seenOf(answer, expectations), expected);
  });
}

/** The result of an answer: condition, status and output. */
async function seenOf(
  answer: string | Uint8Array | Meeting,
  expectations: HttpExpectations,
): Promise<string> {
  const { condition, output, metrics } = withoutTimes(await observeAnswer(answer, expectations));
  return `${condition} ${metrics["status"] ?? "without status"}: ${output}`;
}

Deno.test("observeHttpRequest() compares status and headers with the expected ones", async (t) => {
  const table = `
    200               | 200 | | ok 200: status is 200
    another status    | 500 | | critical 500: status is 500, expected 200
    as a warning      | 500 | asWarning=true | warning 500: status is 500, expected 200
    a class           | 299 | statusCode=2xx | ok 299: status is 299
    a class of a list | 304 | statusCode=[200,"3xx"] | ok 304: status is 304
    none of a list    | 404 | statusCode=[200,403,"5xx"] | critical 404: status is 404, expected 200 or 403 or 5xx
    any status        | 503 | statusCode=null | ok 503: status is 503
    a header in another case, with space around it | 200 x-a="  one " | headers.X-A=" one " | ok 200: status is 200
    a header that matches | 200 a="max-age=60, public" | headers.A.matches=max-age=\\d+ | ok 200: status is 200
    another value     | 200 A=1 | headers.A.matches=^\\d\\d$ | critical 200: header "A" is "1", expected a match of "^\\d\\d$"
    a missing header  | 200 | headers.A.matches=x | critical 200: header "A" is missing, expected a match of "x"
    another case      | 200 A=One | headers.A=one | critical 200: header "A" is "One", expected "one"`;
  await testTable(t, table, async (_, answer, fields, expected) => {
    const [status = "", given] = answer.split(/ (.*)/);
    const expectations = fieldsOf<HttpExpectations>(fields);
    assert.equal(await seenOf(response(Number(status), fieldsOf(given ?? "")), expectations), expected);
  });
  await t.step("long values", async () => {
    const long = "a".repeat(198);
    const seen = await seenOf(response(200, { A: `${long}bcd` }), { headers: { A: `${long}🙂x`, B: "2" } });
    const expected = `header "A" is "${long}b…", expected "${long}…"; header "B" is missing, expected "2"`;
    assert.equal(seen, `critical 200: ${expected}`);
  });
});

Deno.test("observeHttpRequest() searches the body, and lists failures in order", async (t) => {
  const body = '{"status": "degraded", "queue": 7, "message": "Internal Server Error 12"}';
  const answer = response(200, {}, body);
  const table = `
    a text          | bodyPart="Internal Server" | ok 200: status is 200
    in another case | bodyPart="internal\\nserver" | critical 200: body does not contain "internal\\nserver"
    all at once     | notBodyPart=fatal bodyPattern="\\"queue\\": \\\\d+," notBodyPattern=(?i)fatal json={"$.queue":{"lessThan":10}} | \
      ok 200: status is 200
    everything      | statusCode=204 headers.X-A="1" bodyPart=well notBodyPart=degraded bodyPattern="^\\\\[" \
      notBodyPattern=queue json={"$.status":"up","$.queue":{"lessThan":5}} | \
      critical 200: status is 200, expected 204; header "X-A" is missing, expected "1"; \
      body does not contain "well"; body contains "degraded", expected not to; body does not match "^\\["; \
      body matches "queue", expected no match; json "$.status" is "degraded", expected "up"; \
      json "$.queue" is 7, expected a number less than 5`;
  await testTable(t, table, async (_, fields, expected) => {
    assert.equal(await seenOf(answer, fieldsOf(fields)), expected);
  });
  await testAnswers(t, {
    "no body": [
      "HTTP/1.1 204 No Content\r\n\r\n",
      { statusCode: 204, bodyPart: "x" },
      'critical 204: body does not contain "x"',
    ],
    "an unknown charset": [
      response(200, { "content-type": "text/html; charset=klingon" }, "g"),
      { bodyPart: "grün" },
      'unknown 200: cannot search all of the body for "grün": its charset "klingon" is unknown',
    ],
  });
});

Deno.test("observeHttpRequest() reads only as much of a body as it requires", async (t) => {
  const staying = (answer: string): Meeting => async (visitor) => {
    await visitor.readHead();
    await visitor.send(answer);
    await visitor.untilGone();
  };
  await testAnswers(t, {
    "no expectation": [staying("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n"), {}, "ok 200: status is 200"],
    "a text that was found": [
      staying("HTTP/1.1 200 OK\r\n\r\nall is well"),
      { bodyPart: "well" },
      "ok 200: status is 200",
    ],
  });
});

Deno.test("observeHttpRequest() is unknown if the body may have a text behind what it can search", async (t) => {
  const long = "a".repeat(2 ** 20);
  const ebcdic = { "Content-Type": "text/html; charset=EBCDIC" };
  const rows: Rows<[answer: string, HttpExpectations, output: string]> = {
    "a pattern": [
      response(200, {}, `${long.slice(0, -1)}b`),
      { notBodyPattern: "b{1,30}" },
      'cannot search all of the body for "b{1,30}": it has more than N characters',
    ],
    "a pattern that only the cut would match": [
      response(200, {}, `${long}b`),
      { notBodyPattern: "[^a]" },
      'cannot search all of the body for "[^a]": it has more than N characters',
    ],
    "JSON with excessive nesting": [
      response(200, {}, "[".repeat(200_000) + "]".repeat(200_000)),
      { json: { "$..*": { exists: true } } },
      "body is JSON nested deeper than N levels",
    ],
    "a text": [
      response(200, {}, `${long.repeat(10)}b`),
      { notBodyPart: "b" },
      'cannot search all of the body for "b": it has more than 10 MiB',
    ],
    "in a charset that is not known": [
      response(200, ebcdic, "fine"),
      { notBodyPart: "b", notBodyPattern: "c" },
      'cannot search all of the body for "b": its charset "EBCDIC" is unknown; ' +
      'cannot search all of the body for "c": its charset "EBCDIC" is unknown',
    ],
  };
  await testRows(t, rows, async ([answer, expectations, expected]) => {
    const { condition, output } = await observeAnswer(answer, expectations);
    assert.deepEqual([condition, output.replace(/\d+(?= (?:characters|levels))/, "N")], [
      "unknown",
      expected,
    ]);
  });
});

Deno.test("observeHttpRequest() follows redirects, returns them, or rejects them", async (t) => {
  const answer: Meeting = async (visitor) => {
    const head = await visitor.readHead();
    await visitor.send(
      head.startsWith("GET / ") ? response(302, { Location: "/next?token=abc" }) : response(200),
    );
  };
  const table = `
    followed            | | ok 200: status is 200 (redirected to http://HOST/next)
    expected by class   | statusCode=3xx | ok 302: status is 302
    expected in a list  | statusCode=[200,302] | ok 302: status is 302
    expected, and followed nevertheless | statusCode=[200,"3xx"] request.redirects=follow | \
      ok 200: status is 200 (redirected to http://HOST/next)
    rejected            | request.redirects=refuse | \
      critical 302: status is 302, a redirect to http://HOST/next, expected none
    rejected but expected | statusCode=302 request.redirects=refuse | ok 302: status is 302`;
  await testTable(t, table, async (_, fields, expected) => {
    assert.equal(await seenOf(answer, fieldsOf(fields)), expected);
  });
  await t.step("rejected, to a URL without http", async () => {
    const ftp = response(302, { Location: "ftp://user:pass@host/" });
    assert.equal(
      await seenOf(ftp, { request: { redirects: "refuse" } }),
      "critical 302: status is 302, a redirect to a URL without http: or https:, expected none",
    );
  });
});

Deno.test("observeHttpRequest() describes the fault of a broken server", async (t) => {
  const broken = "reading the body failed: connection closed early or malformed body";
  await testAnswers(t, {
    "closes during a body with the wrong status": [
      "HTTP/1.1 500 No\r\ncontent-length: 100\r\n\r\nshort",
      { bodyPart: "long" },
      `critical 500: status is 500, expected 200; ${broken}`,
    ],
  });
  await t.step("refuses the connection", async () => {
    using refusing = await startRefusing();
    const target = `http://127.0.0.1:${refusing.port}/`;
    const { condition, output, metrics } = await observeTarget(target, { asWarning: true });
    assert.deepEqual([condition, output, metrics], [
      "warning",
      `connecting to 127.0.0.1:${refusing.port} failed: connection refused`,
      {},
    ]);
  });
});

Deno.test("observeHttpRequest() returns unknown for failures of this machine and missing permissions", async (t) => {
  const rows = [
    { phase: "machine", output: "connecting to a.example failed: too many open files" },
    { phase: "permission", output: "too many open files" },
  ] as const;
  for (const { phase, output } of rows) {
    await t.step(phase, async () => {
      const context = httpContext();
      const requests = {
        send: () => Promise.reject(new Error("x")),
        explain: () => ({ place: "a.example", phase, reason: "too many open files" }),
      };
      const system = { ...context.system, requests };
      const check = httpCheck("http://a.example/", { asWarning: true });
      const result: CheckResult = await httpRequestKind.observe(check, { ...context, system });
      assert.deepEqual([result.condition, result.output], ["unknown", output]);
    });
  }
});

Deno.test("observeHttpRequest() aborts after the timeout", async (t) => {
  const rows: Rows<[answer: string, HttpExpectations, output: string]> = {
    "in the head": [
      "HTTP/1.1 200 OK\r\ncontent-le",
      {},
      "timeout after 10 s, before a response head from HOST",
    ],
    "in the body": [
      "HTTP/1.1 500 No\r\ncontent-length: 10\r\n\r\nwe",
      { bodyPart: "well", asWarning: true },
      "status is 500, expected 200; timeout after 10 s while reading the body",
    ],
  };
  await testRows(t, rows, async ([answer, expectations, output]) => {
    const clock = createFakeClock();
    const result = await observeAnswer(async (visitor) => {
      await visitor.readHead();
      await visitor.send(answer);
      if (!answer.includes("\r\n\r\n")) void clock.advance(10_000);
      await visitor.untilGone();
    }, { ...expectations, clock, timeoutMs: 10_000, onHead: () => void clock.advance(10_000) });
    assert.deepEqual([result.condition, result.output], [
      expectations.asWarning ? "warning" : "critical",
      output,
    ]);
    assert.equal(clock.timers, 0);
  });
  await t.step("behind a redirect, for all requests together", async () => {
    const clock = createFakeClock();
    await using silent = startServer(async (visitor) => {
      await visitor.readHead();
      void clock.advance(1500);
      await visitor.untilGone();
    });
    const location = `http://user:password@127.0.0.1:${silent.port}/there?token=secret#part`;
    const { output } = await observeAnswer(response(302, { location }), { clock, timeoutMs: 1500 });
    assert.equal(
      output,
      `timeout after 1.5 s, before a response head from 127.0.0.1:${silent.port} ` +
        `(redirected to ${silent.origin}/there)`,
    );
    await silent.untilLeft();
  });
});

Deno.test("observeHttpRequest() throws the reason of an abort, and cancels its timer", async (t) => {
  const reason = new Error("the run ends");
  await t.step("before it begins", async () => {
    const clock = createFakeClock();
    await using server = startAnswering(response(200));
    await assert.rejects(
      observeTarget(`${server.origin}/`, { signal: AbortSignal.abort(reason), clock }),
      reason,
    );
    assert.deepEqual([server.visits, clock.timers], [0, 0]);
  });
  await t.step("while it reads the body", async () => {
    const clock = createFakeClock();
    const end = new AbortController();
    const meet: Meeting = async (visitor) => {
      await visitor.readHead();
      await visitor.send("HTTP/1.1 500 No\r\ncontent-length: 10\r\n\r\n");
      await visitor.untilGone();
    };
    const run = { signal: end.signal, clock, bodyPart: "well", onHead: () => end.abort(reason) };
    await assert.rejects(observeAnswer(meet, run), reason);
    assert.equal(clock.timers, 0);
  });
});

/** A clock with fixed durations: from the start to the head, and to the end of the body. */
function measuring(headMs: number, totalMs: number): Clock {
  const times = [5000, 5000 + headMs, 5000 + totalMs];
  return { ...createFakeClock(), monotonicMs: () => times.shift() ?? 5000 + totalMs };
}

Deno.test("observeHttpRequest() compares the duration with its limits", async (t) => {
  const table = `
    fast              | 1000   | | ok: status is 200
    slow              | 2399   | | warning: took 2.3 s, warning above 1 s
    just too slow     | 1000.5 | | warning: took just over 1 s, warning above 1 s
    as slow as may be | 2500   | | warning: took 2.5 s, warning above 1 s
    very slow         | 2600   | | critical: took 2.6 s, critical above 2.5 s
    very slow, as a warning | 2600 | asWarning=true | warning: took 2.6 s, critical above 2.5 s
    slow and wrong    | 1500   | bodyPart=well | critical: body does not contain "well"; took 1.5 s, warning above 1 s
    below a second    | 700.9  | warningDurationMs=250 | warning: took 700 ms, warning above 250 ms
    below a millisecond | 0.42 | warningDurationMs=0.1 | warning: took 0.4 ms, warning above 0.1 ms`;
  await testTable(t, table, async (_, total, expectations, expected) => {
    const totalMs = Number(total);
    const limits = { warningDurationMs: 1000, criticalDurationMs: 2500 };
    const run = { ...limits, ...fieldsOf<HttpExpectations>(expectations), clock: measuring(120.25, totalMs) };
    const { condition, output, metrics } = await observeAnswer(response(200, {}, "text"), run);
    assert.equal(`${condition}: ${output}`, expected);
    assert.deepEqual(metrics, { status: 200, head_ms: 120.3, total_ms: Math.round(totalMs * 10) / 10 });
  });
});

Deno.test("observeHttpRequest() measures the time to the head, or to the end if the body is read", async () => {
  const answer = response(200, {}, "text");
  const head = await observeAnswer(answer, { clock: measuring(12.34, 99) });
  assert.deepEqual(head.metrics, { status: 200, head_ms: 12.3 });
  const both = await observeAnswer(answer, { bodyPart: "text", clock: measuring(12.34, 99) });
  assert.deepEqual(both.metrics, { status: 200, head_ms: 12.3, total_ms: 99 });
});

Deno.test("httpRequestKind warns of headers that decompression hides", () => {
  const headers = { "Content-Length": "5", ETag: "x", "content-encoding": "gzip" };
  const warningsOf = (expectations: HttpExpectations) =>
    problemTexts(httpRequestKind.warnings?.(httpCheck("http://127.0.0.1/", expectations)));
  const hidden = "cannot be seen on a compressed response, which is decompressed first";
  assert.deepEqual(warningsOf({ headers }), [
    `response.headers.Content-Length: header "Content-Length" ${hidden}`,
    `response.headers.content-encoding: header "content-encoding" ${hidden}`,
  ]);
  assert.deepEqual(warningsOf({}), []);
});
