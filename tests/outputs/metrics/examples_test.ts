/** The rules, the dashboard and the page of the metrics name only existing ones. */
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { FAMILIES } from "../../../src/outputs/metrics/families.ts";
import { promtool } from "../../support/promtool.ts";
import { requiresTools } from "../../../testing/tools.ts";

const PROJECT = fileURLToPath(new URL("../../../", import.meta.url));
const RULES = `${PROJECT}examples/prometheus/monitor.rules.yml`;
const METRICS: ReadonlySet<string> = new Set(Object.values(FAMILIES).map(({ name }) => name));

Deno.test({
  ...requiresTools("promtool"),
  name: "the example's alert rules are sound, and promtool has nothing to complain of",
  fn: async () => {
    const { code, text } = await promtool(["check", "rules", "--lint=all", "--lint-fatal", RULES]);
    assert.equal(code, 0, text);
    assert.match(text, /^Checking .*\n {2}SUCCESS: 12 rules found\n\n?$/);
  },
});

Deno.test({
  ...requiresTools("promtool"),
  name: "the example's alert rules fire as documented",
  fn: async () => {
    const { code, text } = await promtool(["test", "rules", RULES.replace(".rules.yml", ".rules_test.yml")]);
    assert.equal(code, 0, text);
  },
});

Deno.test("each alert of the example is tested", async () => {
  const names = (text: string): readonly string[] =>
    [...new Set([...text.matchAll(/alert(?:name)?: (\w+)/g)].map((match) => match[1] ?? ""))].sort();
  const tests = await Deno.readTextFile(RULES.replace(".rules.yml", ".rules_test.yml"));
  assert.deepEqual(names(tests), names(await Deno.readTextFile(RULES)));
});

Deno.test("the alert rules name metrics that there are", async () => {
  assertKnown(await Deno.readTextFile(RULES));
});

interface Target {
  readonly expr: string;
  readonly datasource: unknown;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource: unknown;
  readonly gridPos: Readonly<Record<"x" | "y" | "w" | "h", number>>;
  readonly targets: readonly Target[];
}

interface Variable {
  readonly name: string;
  readonly type: string;
  readonly query: unknown;
  readonly definition?: string;
}

interface Dashboard {
  readonly id: unknown;
  readonly title: string;
  readonly schemaVersion: number;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
}

Deno.test("the dashboard has the fields that Grafana imports", async () => {
  const { dashboard } = await readDashboard();
  assert.equal(dashboard.id, null, "an id would overwrite another dashboard");
  assert.ok(dashboard.title !== "" && dashboard.schemaVersion >= 30);
  const [source, ...variables] = dashboard.templating.list;
  assert.deepEqual([source?.name, source?.type, source?.query], ["datasource", "datasource", "prometheus"]);
  assert.deepEqual(variables.map(({ name, type }) => [name, type]), [["instance", "query"], [
    "check",
    "query",
  ]]);
  assert.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length);
  for (const { title, datasource, targets, gridPos } of dashboard.panels) {
    const reference = { type: "prometheus", uid: "${datasource}" };
    assert.deepEqual([datasource, ...targets.map((target) => target.datasource)], [
      reference,
      ...targets.map(() => reference),
    ], title);
    assert.ok(targets.length > 0, title);
    assert.ok(gridPos.x + gridPos.w <= 24, title);
  }
});

Deno.test("the dashboard's panels do not overlap", async () => {
  const cells = new Map<string, string>();
  for (const { title, gridPos: { x, y, w, h } } of (await readDashboard()).dashboard.panels) {
    for (let column = x; column < x + w; column++) {
      for (let row = y; row < y + h; row++) {
        const key = `${column} ${row}`;
        assert.equal(cells.get(key), undefined, `${title} covers ${cells.get(key)}`);
        cells.set(key, title);
      }
    }
  }
});

Deno.test({
  ...requiresTools("promtool"),
  name: "the dashboard's queries are valid in Prometheus, and their metrics exist",
  fn: async () => {
    const { dashboard, text } = await readDashboard();
    assertKnown(text);
    const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const rules = queries.map((query, index) => ({ record: `query_${index}`, expr: withValues(query) }));
    const file = await Deno.makeTempFile({ prefix: "monitor_dashboard_", suffix: ".yml" });
    try {
      // JSON is valid YAML.
      await Deno.writeTextFile(file, JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
      const verdict = await promtool(["check", "rules", file]);
      assert.equal(verdict.code, 0, verdict.text);
      assert.match(verdict.text, new RegExp(`SUCCESS: ${queries.length} rules found`));
    } finally {
      await Deno.remove(file);
    }
  },
});

Deno.test("every variable of a query is one that the dashboard or Grafana has", async () => {
  const { dashboard } = await readDashboard();
  const known = new Set([...dashboard.templating.list.map(({ name }) => name), "__rate_interval"]);
  const texts = [
    ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ...dashboard.templating.list.map(({ definition }) => definition ?? ""),
  ];
  const used = texts.flatMap((text) => [...text.matchAll(/\$(\w+)/g)].map((match) => match[1] ?? ""));
  assert.deepEqual(used.filter((name) => !known.has(name)), []);
});

Deno.test("docs/reference/metrics.md lists every metric with its type, and no other", async () => {
  const page = await Deno.readTextFile(`${PROJECT}docs/reference/metrics.md`);
  const listed = [...page.matchAll(/^\| `(monitor_\w+)` +\| (\w+) +\|/gm)].map((
    match,
  ) => [match[1], match[2]]);
  assert.deepEqual(listed, Object.values(FAMILIES).map(({ name, type }) => [name, type]));
  const alerts = [...(await Deno.readTextFile(RULES)).matchAll(/alert: (\w+)/g)].map((match) =>
    match[1] ?? ""
  );
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
