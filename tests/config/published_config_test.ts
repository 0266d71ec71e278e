/** The settings of what `monitor` publishes: the HTTP endpoint, the page and its report, and metrics. */
import assert from "node:assert/strict";
import { load, problemsOf, warningsOf } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

const TOKEN = "0123456789abcdef";
const LOOPBACK = "127.0.0.1:1";

function configWith(keys: object, check: object = {}): object {
  const web = { kind: "test", tags: ["web"], parameters: {}, ...check };
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
    listen: { ...listen, intervalMs: 10_000 },
    page: { title: "Status", announcements: [] },
    metrics: { path: "/etc/monitor/a.prom", intervalMs: 60_000 },
  });
  const page = {
    title: "Status",
    description: "Of everything",
    announcements: [{ date: "2026-01-31 09:30", text: "Two", until: "2026-02-01" }],
  };
  const whole = { address: "0.0.0.0:80", token: TOKEN, public: ["web"] };
  const resolved = await published({
    listen: { ...whole, interval: "1 minute" },
    page,
    report: { path: "index.html", public: ["web"] },
    metrics: { path: "/x/a.prom", interval: "5 minutes", name: "web" },
  });
  assert.deepEqual(resolved.listen, { ...whole, intervalMs: 60_000 });
  assert.deepEqual(resolved.page, page);
  assert.deepEqual(resolved.report.public, ["web"]);
  assert.deepEqual(resolved.metrics, { path: "/x/a.prom", intervalMs: 300_000, name: "web" });
});

Deno.test("loadConfig() hides the token of the endpoint, and secrets in the words of the page", async () => {
  const { secrets } = await load(configWith({ listen: { address: LOOPBACK, token: TOKEN } }));
  assert.ok(secrets.includes(TOKEN));
  const { page } = await published({ page: { title: "a ${env:TOKEN}" } }, { environment: { TOKEN } });
  assert.equal(page.title, "a [secret]");
});

Deno.test("loadConfig() rejects an endpoint that is invalid or not protected, and invalid words", async (t) => {
  const job = (ping_key: string) => ({ kind: "job", parameters: { expected_every: "1 day", ping_key } });
  const note = { date: "2026-02-30", text: "One" };
  const rows: Readonly<Record<string, readonly [keys: object, problem: RegExp, check?: object]>> = {
    "a port alone": [{ listen: { address: "9797" } }, /^listen\.address: "9797" is not an IP address with/],
    "a short token": [{ listen: { address: LOOPBACK, token: "short" } }, /^listen\.token: .*16/],
    "an open address": [
      { listen: { address: "0.0.0.0:80" } },
      /^listen\.address: "0.0.0.0:80" is not a loopback address/,
    ],
    "a short ping_key": [{ listen: { address: LOOPBACK } }, /\.ping_key: .*16/, job("x".repeat(15))],
    "a day that does not exist": [
      { page: { announcements: [note] } },
      /^page\.announcements\[0\]\.date: "2026-02-30" is not a date, expected one such as "2026-01-31"/,
    ],
  };
  await testRows(t, rows, async ([keys, expected, check]) => {
    const [problem = "", ...others] = await problemsOf(configWith(keys, check));
    assert.match(problem, expected);
    assert.deepEqual(others, []);
  });
  assert.deepEqual(await problemsOf(configWith({ listen: { address: LOOPBACK } }, job(TOKEN))), []);
});

Deno.test("loadConfig() warns of a public tag that no check has, and of metrics that nothing reads", async () => {
  const tags = ["web", "shop"];
  const config = configWith({
    listen: { address: LOOPBACK, public: tags },
    report: { path: "index.html", public: tags },
    metrics: { path: "/a.txt" },
  });
  assert.deepEqual((await warningsOf(config)).toSorted(), [
    'listen.public[1]: no check has the tag "shop"',
    'metrics.path: does not end in ".prom", and the node exporter reads no other files',
    'report.public[1]: no check has the tag "shop"',
  ]);
  const unknown = configWith({ metrics: { path: "${env:NONE}" } });
  assert.deepEqual(await warningsOf(unknown, { withoutSecrets: true }), []);
});

Deno.test("loadConfig() disables an endpoint whose token is missing on this machine", async () => {
  const config = await load(configWith({ listen: { address: LOOPBACK, token: "${env:NONE}" } }));
  assert.equal(config.listen, null);
  assert.match(config.warnings.map(({ message }) => message).join(), /the HTTP endpoint does not start/);
});
