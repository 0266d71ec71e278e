/** The steps of runs of real checks, for spans. */
import assert from "node:assert/strict";
import { runCheck } from "../../src/scheduler/run_checks.ts";
import type { RecordedRun, RunStep } from "../../src/scheduler/trace/record_steps.ts";
import { createRedactor } from "../../src/shared/redact.ts";
import { load } from "../../testing/config_system.ts";
import { httpContext } from "../support/http_check.ts";
import { startAnswering, startRefusing, startServer } from "../support/http_servers.ts";

async function stepsOf(check: object, { secrets = [] as readonly string[], isOn = true } = {}) {
  const { checks: [loaded] } = await load({ defaults: {}, checks: { x: check } });
  const { system, signal } = httpContext();
  const runs: RecordedRun[] = [];
  const result = await runCheck(loaded ?? assert.fail(), {
    system,
    jobs: null,
    directory: "/",
    signal,
    redact: createRedactor(secrets),
    steps: { isOn, propagates: false, receive: (run) => void runs.push(run) },
  });
  return { result, runs, steps: runs[0]?.steps ?? [] };
}

/** Name, the reason of a failure, and attributes without ports. */
function shown({ name, failure, attributes }: RunStep): readonly unknown[] {
  const { "server.port": _, ...others } = attributes;
  return [name.replace(/:\d+$/, ""), failure, others];
}

Deno.test("a request has a step until its head and one for its body, and secrets are hidden", async () => {
  await using server = startAnswering("HTTP/1.1 500 No\r\ncontent-length: 4\r\n\r\nlost");
  const target = `${server.origin}/orders/topsecret?key=topsecret`;
  const { steps, runs, result } = await stepsOf({
    kind: "http_request",
    parameters: { request: { target }, response: { body_part: "found" } },
  }, { secrets: ["topsecret"] });
  assert.deepEqual(steps.map(shown), [
    ["GET 127.0.0.1", null, {
      "http.request.method": "GET",
      "server.address": "127.0.0.1",
      "url.scheme": "http",
      "url.path": "/orders/[secret]",
      "http.response.status_code": 500,
    }],
    ["response body", null, {}],
  ]);
  const [run] = runs;
  assert.deepEqual([run?.condition, run?.output, run?.check], ["critical", result.output, "x"]);
  await server.untilLeft();
});

Deno.test("a connection has a step for each phase, and one for its dialog", async () => {
  await using server = startServer(async (visitor) => {
    await visitor.send("220 mail ESMTP\r\n");
    await visitor.readLine();
    await visitor.send("250 mail\r\n");
    await visitor.readLine();
  });
  const { steps } = await stepsOf({
    kind: "tcp_connect",
    parameters: { host: "127.0.0.1", port: server.port, protocol: "smtp" },
  });
  assert.deepEqual(steps.map(shown), [
    ["connecting", null, { "server.address": "127.0.0.1" }],
    ["dialog", null, {}],
  ]);
  await server.untilLeft();
});

Deno.test("a step that failed has the reason", async () => {
  using refusing = await startRefusing();
  const { port } = refusing;
  const request = { target: `http://127.0.0.1:${port}/` };
  for (
    const check of [
      { kind: "http_request", parameters: { request } },
      { kind: "tcp_connect", parameters: { host: "127.0.0.1", port } },
    ]
  ) {
    const { steps } = await stepsOf(check);
    assert.deepEqual(steps.map(({ failure }) => failure), ["connection refused"], check.kind);
  }
});

Deno.test("nothing is recorded while no spans are sent", async () => {
  const { runs } = await stepsOf({ kind: "test", parameters: { condition: "ok" } }, { isOn: false });
  assert.deepEqual(runs, []);
});
