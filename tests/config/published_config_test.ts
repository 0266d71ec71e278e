/** The settings of what `monitor` publishes: the HTTP endpoint, the page and its report, and metrics. */
import assert from "node:assert/strict";
import { load } from "../../testing/config_system.ts";

const TOKEN = "0123456789abcdef";
const LOOPBACK = "127.0.0.1:1";

function configWith(keys: object): object {
  const web = { kind: "test", tags: ["web"], parameters: {} };
  return { defaults: {}, checks: { web }, ...keys };
}

/** What a config publishes, without the prototypes of parsed objects. */
async function published(keys: object, options: Parameters<typeof load>[1] = {}) {
  const { listen, page, report, metrics } = await load(configWith(keys), options);
  return JSON.parse(JSON.stringify({ listen, page, report, metrics }));
}

Deno.test("loadConfig() resolves the HTTP endpoint, the page and the metrics", async () => {
  const nothing = { listen: null, page: null, report: null, metrics: null };
  assert.deepEqual(await published({}), nothing);
  const listen = { address: LOOPBACK };
  assert.deepEqual(await published({ listen, page: { title: "Status" }, metrics: { path: "a.prom" } }), {
    ...nothing,
    listen: { ...listen, actions: false, intervalMs: 10_000 },
    page: { title: "Status", announcements: [], groups: [] },
    metrics: { path: "/etc/monitor/a.prom", intervalMs: 60_000 },
  });
  const page = {
    title: "Status",
    description: "Of everything",
    announcements: [{ date: "2026-01-31 09:30", text: "Two", until: "2026-02-01" }],
    groups: [{ title: "Shop", description: "Orders", tags: ["web"], checks: ["web"] }],
  };
  const whole = { address: "0.0.0.0:80", token: TOKEN, public: ["web"], actions: true };
  const resolved = await published({
    listen: { ...whole, trusted_proxies: ["::1"], interval: "1 minute" },
    page,
    report: { path: "index.html", public: ["web"] },
    metrics: { path: "/x/a.prom", interval: "5 minutes", name: "web" },
  });
  assert.deepEqual(resolved.listen, { ...whole, trustedProxies: ["::1"], intervalMs: 60_000 });
  assert.deepEqual(resolved.page, page);
  assert.deepEqual(resolved.report.public, ["web"]);
  assert.deepEqual(resolved.metrics, { path: "/x/a.prom", intervalMs: 300_000, name: "web" });
});

Deno.test("loadConfig() hides the token of the endpoint, and secrets in the words of the page", async () => {
  const { secrets } = await load(configWith({ listen: { address: LOOPBACK, token: TOKEN } }));
  assert.ok(secrets.includes(TOKEN));
  const { listen } = await published({ listen: { address: LOOPBACK, token: "${env:NONE}" } });
  assert.equal(listen, null, "without its token there is no endpoint");
  const text = "a ${env:TOKEN}";
  const { page } = await published({
    page: { title: text, groups: [{ title: text, description: text }] },
  }, { environment: { TOKEN } });
  const shown = "a [secret]";
  assert.deepEqual([page.title, page.groups], [shown, [
    { title: shown, description: shown, tags: [], checks: [] },
  ]]);
});
