/** `opentelemetry`: what a collector gets from the whole program. */
import assert from "node:assert/strict";
import { simulate } from "../../testing/simulation/mod.ts";
import type { Receivers } from "../../testing/simulation/receivers.ts";
import { type OtlpPoint, readMetrics } from "../support/otlp_messages.ts";

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

simulate("a collector that fails delays nothing, and is logged once, as is its end", {
  start: START,
  config: CONFIG,
  environment,
  results: { web: "22:01 critical, 22:03 ok" },
  servers: { otel: "21:58 hang, 22:02 refuse, 22:05 503, 22:08 up" },
  until: "22:11",
  log: ["cannot export to OpenTelemetry: no response from otel.example:4318 within 10 s"],
  expect: {
    chat: ["22:01 problem web critical", "22:03 recovery web ok"],
    otel: "any",
  },
  finally: (world, receivers) => {
    const minutes = exportsOf(receivers).map(({ minute }) => minute);
    assert.ok(minutes.includes("22:09") && !minutes.includes("22:04"), minutes.join());
    const log = world.machine().service?.stderr.text() ?? "";
    assert.equal(log.split("exporting to OpenTelemetry succeeds again").length, 2, log);
    assert.doesNotMatch(log, /secret/);
  },
});

simulate("a collector that asks for a delay gets it", {
  start: START,
  config: CONFIG,
  environment,
  log: ["cannot export to OpenTelemetry: otel.example:4318 returned status 429"],
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
  log: [/^monitor: warning: cannot export to OpenTelemetry: connecting to otel\.example:4318 failed/],
  expect: { otel: "any" },
  finally: (_world, receivers) => {
    assert.deepEqual(exportsOf(receivers).map(({ minute }) => minute), ["21:56", "21:58", "21:59", "22:00"]);
  },
});
