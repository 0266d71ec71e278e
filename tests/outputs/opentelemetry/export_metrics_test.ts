import assert from "node:assert/strict";
import { FAMILIES, metricType } from "../../../src/outputs/metrics/families.ts";
import { type MetricValues, renderMetrics } from "../../../src/outputs/metrics/render_metrics.ts";
import { type ExportEnd, exportMetrics } from "../../../src/outputs/opentelemetry/export_otlp.ts";
import { startOpenTelemetry } from "../../../src/outputs/optional_outputs.ts";
import { SpanQueue } from "../../../src/outputs/opentelemetry/span_queue.ts";
import type { IncomingResponse, OutgoingRequest } from "../../../src/domain/connections.ts";
import { HOSTILE_NAMES } from "../../../testing/hostile_configs.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { type OtlpPoint, readMetrics } from "../../support/otlp_messages.ts";
import { checkOf, noPause, valuesOf } from "../metrics/values.ts";

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
    headers,
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
