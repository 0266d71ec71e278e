import assert from "node:assert/strict";
import { type OtlpOutcome, sendOtlp } from "../../../src/outputs/opentelemetry/otlp.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { inTime } from "../../life/in_time.ts";
import { startAnswering, startRefusing, startServer } from "../../support/http_servers.ts";
import { FAMILIES, metricType } from "../../../src/outputs/metrics/families.ts";
import { type MetricValues, renderMetrics } from "../../../src/outputs/metrics/render_metrics.ts";
import { type ExportEnd, exportMetrics } from "../../../src/outputs/opentelemetry/export_otlp.ts";
import { startOpenTelemetry } from "../../../src/outputs/optional_outputs.ts";
import { SpanQueue } from "../../../src/outputs/opentelemetry/span_queue.ts";
import { HOSTILE_NAMES } from "../../../testing/hostile_configs.ts";
import { type OtlpPoint, readMetrics } from "../../support/otlp_messages.ts";
import { checkOf, noPause, valuesOf } from "../metrics/values.ts";
import type { RecordedRun, RunStep } from "../../../src/scheduler/trace/record_steps.ts";
import type { IncomingResponse, OutgoingRequest } from "../../../src/domain/connections.ts";

const ACCEPTED: OtlpOutcome = { accepted: true, rejected: 0, reason: "" };

function send(
  target: string,
  { clock = createMemorySystem().clock, abort = new AbortController().signal, onHead = () => {} } = {},
): Promise<OtlpOutcome> {
  const { requests } = createMemorySystem();
  return sendOtlp({ signal: "traces", body: "{}", count: 5 }, {
    settings: { target, headers: { "X-Key": "k" } },
    system: {
      clock,
      requests: {
        ...requests,
        send: async (request, signal) => {
          const response = await requests.send(request, signal);
          onHead();
          return response;
        },
      },
    },
    abort,
  });
}

function answer(status: number, body = "", headers = ""): string {
  return `HTTP/1.1 ${status} Text\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;
}

Deno.test("sendOtlp() posts to the path of the signal, behind that of the target", async () => {
  for (const [path, expected] of [["", "/v1/traces"], ["/otlp/?key=1", "/otlp/v1/traces?key=1"]]) {
    await using server = startAnswering(answer(200, "{}"));
    assert.deepEqual(await send(server.origin + path), ACCEPTED);
    const [head = ""] = server.heads;
    assert.ok(head.startsWith(`POST ${expected} HTTP/1.1\r\n`), head);
    assert.match(head, /\r\ncontent-type: application\/json\r\n/i);
    assert.match(head, /\r\nx-key: k\r\n/i);
    await server.untilLeft();
  }
});

Deno.test("sendOtlp() returns which failures may be repeated, and when", async () => {
  const rows: readonly [status: number, retryable: boolean][] = [
    [400, false],
    [401, false],
    [404, false],
    [413, false],
    [429, true],
    [500, false],
    [502, true],
    [503, true],
    [504, true],
    [301, false],
  ];
  for (const [status, retryable] of rows) {
    await using server = startAnswering(answer(status, '{"message":"no\\nroom"}', "retry-after: 7\r\n"));
    assert.deepEqual(await send(server.origin), {
      accepted: false,
      retryable,
      reason: `127.0.0.1:${server.port} returned status ${status}: no room`,
      retryAfterMs: 7_000,
    });
    await server.untilLeft();
  }
});

Deno.test("sendOtlp() accepts a status of success, whatever its body is", async () => {
  for (
    const [name, body] of Object.entries({
      empty: "",
      page: "<html>",
      list: "[]",
      null: "null",
      long: " ".repeat(100_000),
      other: '{"partialSuccess":null}',
    })
  ) {
    await using server = startAnswering(answer(200, body));
    assert.deepEqual(await send(server.origin), ACCEPTED, name);
    await server.untilLeft();
  }
});

Deno.test("sendOtlp() ends at its timeout, and accepts a head of success without a body", async () => {
  const rows: readonly [name: string, head: string, isAccepted: boolean][] = [
    ["silent", "", false],
    ["an endless body", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{", true],
    ["an endless body of a failure", "HTTP/1.1 503 No\r\ncontent-length: 100\r\n\r\n{", false],
  ];
  for (const [name, head, isAccepted] of rows) {
    const clock = createFakeClock();
    const visited = Promise.withResolvers<void>();
    await using server = startServer(async (visitor) => {
      await visitor.readHead();
      if (head === "") visited.resolve();
      else await visitor.send(head);
      await visitor.untilGone();
    });
    const sending = send(server.origin, { clock, onHead: visited.resolve });
    await inTime(name, visited.promise);
    await clock.advance(10_000);
    const outcome = await inTime(name, sending);
    assert.equal(outcome.accepted, isAccepted, name);
    if (name === "silent") {
      assert.ok(!outcome.accepted && outcome.retryable);
      assert.equal(outcome.reason, `no response from 127.0.0.1:${server.port} within 10 s`);
    }
    assert.equal(clock.timers, 0);
    await server.untilLeft();
  }
});

Deno.test("sendOtlp() returns a refused connection, and throws the reason of its signal", async () => {
  using refusing = await startRefusing();
  const { port } = refusing;
  assert.deepEqual(await send(`http://127.0.0.1:${port}`), {
    accepted: false,
    retryable: true,
    reason: `connecting to 127.0.0.1:${port} failed: connection refused`,
    retryAfterMs: null,
  });
  const visited = Promise.withResolvers<void>();
  await using server = startServer(async (visitor) => {
    await visitor.readHead();
    visited.resolve();
    await visitor.untilGone();
  });
  const controller = new AbortController();
  const sending = send(server.origin, { abort: controller.signal });
  await inTime("the request", visited.promise);
  controller.abort(new Error("Stopped"));
  await assert.rejects(sending, /Stopped/);
});

const SETTINGS = {
  target: "http://collector.example:4318/",
  headers: { Authorization: "Bearer secret" },
  intervalMs: 60_000,
  metrics: true,
  traces: true,
  propagate: false,
  serviceName: "monitor",
};
const NOW_MS = 1_800_000_000_123.25;

/** Exports values to a collector with some answers, one after another. */
async function sendTo(
  values: MetricValues,
  answers: readonly { status?: number; headers?: Record<string, string>; body?: string }[] = [],
): Promise<{ readonly end: ExportEnd; readonly requests: readonly OutgoingRequest[] }> {
  const system = createMemorySystem();
  const requests: OutgoingRequest[] = [];
  const end = await exportMetrics(values, {
    settings: SETTINGS,
    version: "1.2.3",
    instance: null,
    abort: new AbortController().signal,
    system: {
      ...system,
      hostName: () => "host",
      clock: { ...system.clock, wallMs: () => NOW_MS },
      requests: {
        ...system.requests,
        send: (request) => {
          const { status = 200, headers = {}, body = "{}" } = answers[requests.length] ?? {};
          requests.push(request);
          return Promise.resolve(responseOf(status, new Headers(headers), body));
        },
      },
    },
  });
  return { end, requests };
}

function responseOf(status: number, headers: Headers, body: string): IncomingResponse {
  const chunks = [new TextEncoder().encode(body)];
  return {
    status,
    headers: () => headers,
    header: (name) => headers.get(name),
    read: () => Promise.resolve(chunks.shift() ?? null),
    close: () => Promise.resolve(),
  };
}

async function pointsOf(values: MetricValues): Promise<readonly OtlpPoint[]> {
  const { end, requests } = await sendTo(values);
  assert.deepEqual(end, { failure: null, waitMs: 0 });
  return requests.flatMap(({ body = "" }) => readMetrics(body).points);
}

const EVERYTHING = valuesOf({
  name: 'the "web" one',
  checks: [
    checkOf("web", {
      performanceData: "size=2KiB;1;@2:3;0;4 time=59ms;10:20;~:30 hits=7c none=U",
      locations: [{ location: "fra", condition: "critical", output: "refused", durationMs: 12.5 }],
    }),
    { ...checkOf("db"), suppressedBy: "silence" },
  ],
});

Deno.test("exportMetrics() posts counters and gauges, with the resource and the headers of the config", async () => {
  const { requests: [request = assert.fail(), ...others] } = await sendTo(EVERYTHING);
  assert.deepEqual(others, []);
  const { target, method, headers, body = "" } = request;
  assert.deepEqual([method, target], ["POST", "http://collector.example:4318/v1/metrics"]);
  assert.deepEqual(headers, {
    "content-type": "application/json",
    "user-agent": "monitor",
    authorization: "Bearer secret",
  });
  const { resource, points } = readMetrics(body);
  assert.deepEqual(resource, {
    "service.name": "monitor",
    "service.version": "1.2.3",
    "service.instance.id": "host",
    "host.name": "host",
  });
  for (const { name, isCounter, attributes, timeMs } of points) {
    assert.ok(name in FAMILIES, name);
    assert.equal(isCounter, metricType(name) === "counter", name);
    assert.equal(attributes["monitor"], 'the "web" one');
    assert.equal(timeMs, NOW_MS);
  }
});

Deno.test("exportMetrics() sends the same samples as the text of /metrics", async () => {
  const text = await renderMetrics(EVERYTHING, noPause);
  const points = (await pointsOf(EVERYTHING)).map(({ name, attributes, value }) => {
    const labels = Object.entries(attributes).map(([key, label]) => `${key}=${JSON.stringify(label)}`);
    return `${name}{${labels.join()}} ${value}`;
  });
  assert.deepEqual(points.toSorted(), text.split("\n").filter((line) => /^[^#]/.test(line)).toSorted());
});

Deno.test("exportMetrics() keeps hostile names whole and distinct", async () => {
  const names = [...new Set([...HOSTILE_NAMES, "a\nb", "\ud800", '"}]', "\\u0000"])];
  const points = await pointsOf(valuesOf({ checks: names.map((name) => checkOf(name)) }));
  const found = points.filter(({ name }) => name === "monitor_check_condition").map((point) =>
    point.attributes["check"]
  );
  assert.deepEqual(found, names.map((name) => name.toWellFormed()));
});

Deno.test("exportMetrics() divides many checks, and sends no more after a failure", async () => {
  const values = valuesOf({ checks: Array.from({ length: 600 }, (_, index) => checkOf(`check ${index}`)) });
  const { requests } = await sendTo(values);
  const points = requests.map(({ body = "" }) => readMetrics(body).points);
  assert.equal(requests.length, 3);
  const conditions = points.flat().filter(({ name }) => name === "monitor_check_condition");
  assert.equal(new Set(conditions.map(({ attributes }) => attributes["check"])).size, 600);
  const refused = await sendTo(values, [{}, { status: 503, headers: { "retry-after": "120" } }]);
  assert.equal(refused.requests.length, 2);
  assert.deepEqual(refused.end, {
    failure: "cannot export metrics to OpenTelemetry: collector.example:4318 returned status 503",
    waitMs: 120_000,
  });
});

Deno.test("exportMetrics() returns what a collector rejected", async () => {
  const rejecting = (partialSuccess: unknown) =>
    sendTo(valuesOf(), [{ body: JSON.stringify({ partialSuccess }) }]);
  const total = (await pointsOf(valuesOf())).length;
  const rows: readonly [name: string, partialSuccess: unknown, failure: string | null][] = [
    ["a text", { rejectedDataPoints: "3", errorMessage: "too\nold" }, `3 of ${total} metric points: too old`],
    ["a number", { rejectedDataPoints: 2 }, `2 of ${total} metric points`],
    ["more than were sent", { rejectedDataPoints: "1e9" }, `${total} of ${total} metric points`],
    ["a warning alone", { rejectedDataPoints: "0", errorMessage: "be brief" }, null],
    ["no number", { rejectedDataPoints: "all" }, null],
    ["none", undefined, null],
    ["no object", 5, null],
  ];
  for (const [name, partialSuccess, rejected] of rows) {
    const { end: { failure } } = await rejecting(partialSuccess);
    assert.equal(failure, rejected && `the OpenTelemetry collector rejected ${rejected}`, name);
  }
});

Deno.test("startOpenTelemetry() starts no export after its end, also if a reload has begun to", async () => {
  const spans = new SpanQueue();
  const redact = (text: string): string => text;
  const switched = await startOpenTelemetry({ opentelemetry: null, redact }, {
    ...{ spans, system: createMemorySystem(), version: "1.2.3", instance: null },
    log: { warning: assert.fail, info: assert.fail },
    values: () => Promise.resolve(valuesOf()),
    onBug: assert.fail,
  });
  switched.adopt({ opentelemetry: { ...SETTINGS, metrics: false }, redact });
  await switched.end();
  // The change had loaded it by then.
  await import("../../../src/outputs/opentelemetry/opentelemetry_export.ts");
  await Promise.resolve();
  assert.equal(spans.isOn, false);
});

function runOf(check: string, steps: number): RecordedRun {
  const step: RunStep = {
    ...{ spanId: "00000000000000ab", name: "GET x", isRequest: true, startMs: 0, endMs: 1 },
    ...{ attributes: {}, failure: null },
  };
  return {
    ...{ traceId: "ab".repeat(16), spanId: "ab".repeat(8), check, kind: "test", condition: "ok", output: "" },
    ...{ startedAtMs: 0, durationMs: 1, droppedSteps: 0 },
    steps: Array.from({ length: steps }, () => step),
  };
}

const names = (runs: readonly RecordedRun[]): string => runs.map(({ check }) => check).join("");

Deno.test("first() returns whole runs, and at least one", () => {
  const queue = new SpanQueue();
  for (const [name, steps] of [["a", 2], ["b", 0], ["c", 9], ["d", 0]] as const) {
    queue.receive(runOf(name, steps));
  }
  assert.equal(queue.spans, 15);
  assert.equal(names(queue.first(1)), "a");
  assert.equal(names(queue.first(4)), "ab");
  assert.equal(names(queue.first(15)), "abcd");
  queue.sent(queue.first(4));
  assert.deepEqual([queue.spans, names(queue.first(100))], [11, "cd"]);
});

Deno.test("a full queue drops the oldest runs, also those that are being sent, and counts their spans", () => {
  const queue = new SpanQueue();
  queue.receive(runOf("a", 1));
  const sending = queue.first(512);
  for (let index = 0; index < 4_200; index++) queue.receive(runOf("b", 1));
  assert.ok(queue.spans <= 8_192);
  assert.equal(queue.spans + queue.dropped, 8_402);
  const before = queue.spans;
  queue.sent(sending);
  assert.equal(queue.spans, before);
});
