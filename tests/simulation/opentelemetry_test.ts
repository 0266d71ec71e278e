/** `opentelemetry`: what a collector gets from the whole program. */
import assert from "node:assert/strict";
import { simulate } from "../../testing/simulation/mod.ts";
import type { Receivers } from "../../testing/simulation/receivers.ts";
import { type OtlpPoint, type OtlpSpan, readMetrics, readSpans } from "../support/otlp_messages.ts";

const START = "2026-03-02 21:55";
const opentelemetry = { target: "http://otel.example:4318", headers: { "X-Token": "${env:OTLP_TOKEN}" } };
const CONFIG = { opentelemetry, channels: { chat: {} }, checks: { web: {} } };
const environment = { OTLP_TOKEN: "very-secret-token" };

interface Exported {
  readonly minute: string;
  readonly points: readonly OtlpPoint[];
}

/** The points of each request with metrics. */
function exportsOf(receivers: Receivers): readonly Exported[] {
  return receivers.messages.filter(({ request }) => request?.url.pathname === "/v1/metrics").map(
    ({ atMs, request }) => ({
      minute: new Date(atMs).toISOString().slice(11, 16),
      points: readMetrics(request?.body ?? "").points,
    }),
  );
}

function spansOf(receivers: Receivers): readonly OtlpSpan[] {
  return receivers.messages.filter(({ request }) => request?.url.pathname === "/v1/traces")
    .flatMap(({ request }) => readSpans(request?.body ?? ""));
}

function valueOf({ points }: Exported, name: string): number | undefined {
  return points.find((point) => point.name === name)?.value;
}

simulate("a service exports its metrics at once, each minute, and when it stops", {
  start: START,
  config: CONFIG,
  environment,
  results: { web: "21:57 critical" },
  actions: { "22:00": "stop" },
  until: "22:05",
  expect: { chat: ["21:57 problem web critical"], otel: "any" },
  finally: (_world, receivers) => {
    const found = exportsOf(receivers);
    assert.deepEqual(
      found.map(({ minute }) => minute),
      ["21:55", "21:56", "21:57", "21:58", "21:59", "22:00"],
    );
    const [running = assert.fail(), stopped = assert.fail()] = found.slice(-2);
    assert.equal(valueOf(running, "monitor_check_condition"), 2);
    assert.equal(valueOf(running, "monitor_running"), 1);
    assert.equal(valueOf(stopped, "monitor_check_condition"), 3);
    assert.equal(valueOf(stopped, "monitor_running"), 0);
    for (const { request } of receivers.messages.filter(({ channel }) => channel === "otel")) {
      assert.equal(request?.headers["x-token"], environment.OTLP_TOKEN);
    }
  },
});

simulate("a collector that fails delays nothing, and each reason is logged once, as is its end", {
  start: START,
  config: CONFIG,
  environment,
  results: { web: "22:01 critical, 22:03 ok" },
  servers: { otel: "21:58 hang, 22:02 refuse, 22:05 503, 22:08 up" },
  until: "22:20",
  log: [
    "metrics to OpenTelemetry: no response from otel.example:4318 within 10 s",
    "spans to OpenTelemetry: no response from otel.example:4318 within 10 s",
    "metrics to OpenTelemetry: connecting to otel.example:4318 failed",
    "spans to OpenTelemetry: connecting to otel.example:4318 failed",
    // Spans are tried again later.
    "metrics to OpenTelemetry: otel.example:4318 returned status 503",
  ],
  expect: { chat: ["22:01 problem web critical", "22:03 recovery web ok"], otel: "any" },
  finally: (world, receivers) => {
    const minutes = exportsOf(receivers).map(({ minute }) => minute);
    assert.ok(minutes.includes("22:09") && !minutes.includes("22:04"), minutes.join());
    const log = world.machine().service?.stderr.text() ?? "";
    assert.equal(log.split("cannot export metrics").length, 4, log);
    assert.equal(
      log.split("exporting to OpenTelemetry succeeds again; 10 exports of metrics failed\n").length,
      2,
      log,
    );
    assert.doesNotMatch(log, /secret/);
  },
});

simulate("a collector that asks for a delay gets it", {
  start: START,
  config: CONFIG,
  environment,
  log: ["cannot export metrics to OpenTelemetry: otel.example:4318 returned status 429"],
  actions: {
    "21:57": (world) => {
      const host = world.network.host("otel.example") ?? assert.fail();
      const { respond } = host;
      host.respond = (request) => {
        host.respond = respond;
        respond(request);
        return { status: 429, headers: { "retry-after": "240" } };
      };
    },
  },
  until: "22:03",
  expect: { otel: "any" },
  finally: (_world, receivers) => {
    assert.deepEqual(
      exportsOf(receivers).map(({ minute }) => minute),
      ["21:55", "21:56", "21:57", "22:01", "22:02"],
    );
  },
});

simulate("calls of cron export once each, and a failure is a warning", {
  start: START,
  mode: "cron",
  config: CONFIG,
  environment,
  servers: { otel: "21:57 refuse, 21:58 up" },
  until: "22:01",
  log: ["metrics", "spans"].map((what) =>
    `monitor: warning: cannot export ${what} to OpenTelemetry: connecting to otel.example:4318 failed`
  ),
  expect: { otel: "any" },
  finally: (_world, receivers) => {
    assert.deepEqual(exportsOf(receivers).map(({ minute }) => minute), ["21:56", "21:58", "21:59", "22:00"]);
  },
});

const target = "http://shop.example/login?key=very-secret-token";
const LOGIN = {
  kind: "http_request",
  parameters: {
    steps: [
      { name: "log in", request: { target } },
      { name: "order", request: { target: "http://shop.example/order" } },
    ],
  },
};

simulate("each run is a span with one for each step, and its requests continue the trace", {
  start: START,
  config: {
    opentelemetry: { ...opentelemetry, metrics: false, propagate: true },
    checks: { shop: LOGIN, disk: {} },
  },
  environment,
  results: { disk: "21:57 critical (no very-secret-token)" },
  actions: {
    "21:55": (world) => {
      world.network.add("shop.example", {
        respond: ({ headers, url }) => {
          parents.set(url.pathname, headers["traceparent"] ?? "");
          return { status: 200 };
        },
      });
    },
    "21:58": "stop",
  },
  until: "22:00",
  expect: { otel: "any", chat: ["21:57 problem disk critical"] },
  finally: (_world, receivers) => {
    const spans = spansOf(receivers);
    assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length);
    const runs = spans.filter(({ parentSpanId }) => parentSpanId === undefined);
    assert.deepEqual(runs.map(({ name }) => name).toSorted(), [
      "disk",
      "disk",
      "disk",
      "shop",
      "shop",
      "shop",
    ]);
    const run = runs.findLast(({ name }) => name === "shop") ?? assert.fail();
    assert.deepEqual(run.attributes, {
      "monitor.check.name": "shop",
      "monitor.check.kind": "http_request",
      "monitor.check.condition": "ok",
      "monitor.check.output": run.attributes["monitor.check.output"],
    });
    const steps = spans.filter(({ parentSpanId }) => parentSpanId === run.spanId);
    assert.deepEqual(
      steps.map(({ name, kind, attributes }) => [name, kind, attributes["url.path"] ?? null]),
      [
        ["GET shop.example", 3, "/login"],
        ["response body", 1, null],
        ["GET shop.example", 3, "/order"],
        ["response body", 1, null],
      ],
    );
    for (const { traceId, startMs, endMs } of steps) {
      assert.equal(traceId, run.traceId);
      assert.ok(run.startMs <= startMs && startMs <= endMs && endMs <= run.endMs + 1);
    }
    const login = steps[0] ?? assert.fail();
    assert.equal(parents.get("/login"), `00-${run.traceId}-${login.spanId}-01`);
    const failed = runs.findLast(({ name }) => name === "disk") ?? assert.fail();
    assert.equal(failed.error, "no [secret]");
    const [command = assert.fail()] = spans.filter(({ parentSpanId }) => parentSpanId === failed.spanId);
    assert.deepEqual([command.name, command.attributes["process.exit.code"]], ["run probe", 2]);
    assert.doesNotMatch(JSON.stringify(spans), /very-secret/);
  },
});

const parents = new Map<string, string>();

simulate("spans wait while a collector fails, and those that it rejects are counted", {
  start: START,
  config: CONFIG,
  environment,
  servers: { otel: "21:57 503, 21:59 up, 22:06 400, 22:08 up" },
  log: ["metrics", "spans"].flatMap((what) =>
    ["503", "400"].map((status) => `${what} to OpenTelemetry: otel.example:4318 returned status ${status}`)
  ),
  until: "22:12",
  expect: { otel: "any" },
  finally: (world, receivers) => {
    assert.match(
      world.machine().service?.stderr.text() ?? "",
      /succeeds again; 2 exports of metrics failed\n[^]*succeeds again; 2 exports of metrics failed, 4 spans dropped\n/,
    );
    const starts = spansOf(receivers).filter(({ name }) => name === "web").map(({ startMs }) =>
      new Date(startMs).toISOString().slice(14, 16)
    );
    const all = Array.from({ length: 17 }, (_, index) => String((55 + index) % 60).padStart(2, "0"));
    assert.deepEqual(starts.toSorted(), all.filter((minute) => !["06", "07"].includes(minute)).toSorted());
    const last = exportsOf(receivers).at(-1) ?? assert.fail();
    assert.equal(valueOf(last, "monitor_opentelemetry_spans_dropped_total"), 4);
  },
});
