/** The rules, the dashboard and the page of the metrics name only existing ones. */
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { FAMILIES, metricType } from "../../../src/outputs/metrics/families.ts";
import { tempDirectory } from "../../../testing/builders.ts";
import { promtool } from "../../support/promtool.ts";
import { testWith } from "../../../testing/tools.ts";

const PROJECT = fileURLToPath(new URL("../../../", import.meta.url));
const RULES = `${PROJECT}examples/prometheus/monitor.rules.yml`;
const METRICS: ReadonlySet<string> = new Set(Object.keys(FAMILIES));

testWith("promtool")(
  "the example's alert rules are sound, and promtool has nothing to complain of",
  async () => {
    const { code, text } = await promtool(["check", "rules", "--lint=all", "--lint-fatal", RULES]);
    assert.equal(code, 0, text);
    assert.match(text, /^Checking .*\n {2}SUCCESS: 12 rules found\n\n?$/);
  },
);

testWith("promtool")("the example's alert rules fire as documented", async () => {
  const { code, text } = await promtool(["test", "rules", RULES.replace(".rules.yml", ".rules_test.yml")]);
  assert.equal(code, 0, text);
});

Deno.test("each alert of the example is tested", async () => {
  const names = (text: string): readonly string[] =>
    [...new Set([...text.matchAll(/alert(?:name)?: (\w+)/g)].map(([, name = ""]) => name))].sort();
  const tests = await Deno.readTextFile(RULES.replace(".rules.yml", ".rules_test.yml"));
  assert.deepEqual(names(tests), names(await Deno.readTextFile(RULES)));
});

Deno.test("the alert rules and the dashboard name metrics that there are", async () => {
  assertKnown(await Deno.readTextFile(RULES));
  assertKnown((await readDashboard()).text);
});

interface Dashboard {
  readonly id: unknown;
  readonly panels: readonly {
    readonly title: string;
    readonly datasource: unknown;
    readonly targets: readonly { readonly expr: string; readonly datasource: unknown }[];
  }[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

testWith("promtool")("the dashboard's queries are valid in Prometheus", async () => {
  const { dashboard } = await readDashboard();
  const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const rules = queries.map((query, index) => ({ record: `query_${index}`, expr: withValues(query) }));
  // JSON is valid YAML.
  const text = JSON.stringify({ groups: [{ name: "dashboard", rules }] });
  await using directory = await tempDirectory({ "rules.yml": text });
  const verdict = await promtool(["check", "rules", `${directory.path}/rules.yml`]);
  assert.equal(verdict.code, 0, verdict.text);
  assert.match(verdict.text, new RegExp(`SUCCESS: ${queries.length} rules found`));
});

Deno.test("every variable of a query is one that the dashboard or Grafana has", async () => {
  const { dashboard } = await readDashboard();
  const known = new Set([...dashboard.templating.list.map(({ name }) => name), "__rate_interval"]);
  const texts = [
    ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ...dashboard.templating.list.map(({ definition }) => definition ?? ""),
  ];
  const used = texts.flatMap((text) => [...text.matchAll(/\$(\w+)/g)].map(([, name = ""]) => name));
  assert.deepEqual(used.filter((name) => !known.has(name)), []);
});

Deno.test("docs/reference/metrics.md lists every metric with its type, and no other", async () => {
  const page = await Deno.readTextFile(`${PROJECT}docs/reference/metrics.md`);
  const listed = [...page.matchAll(/^\| `(monitor_\w+)` +\| (\w+) +\|/gm)].map(([, ...cells]) => cells);
  assert.deepEqual(listed, Object.keys(FAMILIES).map((name) => [name, metricType(name)]));
  const alerts = [...(await Deno.readTextFile(RULES)).matchAll(/alert: (\w+)/g)].map(([, name = ""]) => name);
  const guide = await Deno.readTextFile(`${PROJECT}docs/guides/prometheus.md`);
  for (const alert of alerts) assert.ok(guide.includes(`\`${alert}\``), alert);
});

async function readDashboard(): Promise<{ readonly dashboard: Dashboard; readonly text: string }> {
  const text = await Deno.readTextFile(`${PROJECT}examples/grafana/monitor.json`);
  return { dashboard: JSON.parse(text) as Dashboard, text };
}

/** A query as Grafana sends it, with values in the place of its variables. */
function withValues(query: string): string {
  return query.replaceAll("$__rate_interval", "5m").replaceAll(/\$\w+/g, ".*");
}

function assertKnown(text: string): void {
  const named = [...text.matchAll(/\bmonitor_\w+/g)].map((match) => match[0]);
  assert.ok(named.length > 0);
  assert.deepEqual(named.filter((name) => !METRICS.has(name)), []);
}
