import assert from "node:assert/strict";
import { load, warningsOf, withCheck } from "../../testing/config_system.ts";

const CHECK = { kind: "test", parameters: {} };

function withMetrics(metrics: unknown): unknown {
  return { ...(withCheck(CHECK) as Readonly<Record<string, unknown>>), metrics };
}

Deno.test("loadConfig() resolves the path and the interval of metrics", async () => {
  assert.equal((await load(withCheck(CHECK))).metrics, null);
  assert.deepEqual({ ...(await load(withMetrics({ path: "a.prom" }))).metrics }, {
    path: "/etc/monitor/a.prom",
    intervalMs: 60_000,
  });
  assert.deepEqual(
    { ...(await load(withMetrics({ path: "/x/a.prom", interval: "5 minutes", name: "web" }))).metrics },
    {
      path: "/x/a.prom",
      intervalMs: 300_000,
      name: "web",
    },
  );
});

Deno.test("loadConfig() warns of a file that the node exporter would not read", async () => {
  assert.deepEqual(await warningsOf(withMetrics({ path: "/a.prom" })), []);
  assert.deepEqual(await warningsOf(withMetrics({ path: "/a.txt" })), [
    'metrics.path: does not end in ".prom", and the node exporter reads no other files',
  ]);
  assert.deepEqual(await warningsOf(withMetrics({ path: "${env:NONE}" }), { withoutSecrets: true }), []);
});
