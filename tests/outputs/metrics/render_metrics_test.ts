import assert from "node:assert/strict";
import type { LocationVote } from "../../../src/domain/check.ts";
import { FAMILIES, metricType } from "../../../src/outputs/metrics/families.ts";
import {
  type CheckMetrics,
  measurementsOf,
  renderMetrics,
} from "../../../src/outputs/metrics/render_metrics.ts";
import { recordOf } from "../../state/records.ts";
import { HOSTILE_NAMES } from "../../../testing/hostile_configs.ts";
import { HOSTILE_TEXTS as STORAGE_TEXTS } from "../../state/hostile.ts";
import { type Rows, testRows } from "../../support/rows.ts";
import { promtool } from "../../support/promtool.ts";
import { testWith } from "../../../testing/tools.ts";
import { HOSTILE_TEXTS as FORMAT_TEXTS, unsafeCodes } from "../../cli/formats/hostile_records.ts";
import { agentCheckOf, channelOf, checkOf, noPause, valuesOf } from "./values.ts";

const EVERYTHING =
  "size=2KiB;1;@2:3;0;4 time=59ms;10:20;~:30 share=80% hits=7c users=3 odd=1furlong none=U users=4";

const LABELS: readonly string[] = [
  ...new Set([
    ...STORAGE_TEXTS,
    ...HOSTILE_NAMES,
    ...FORMAT_TEXTS.map(([, text]) => text),
    "\ud800",
    "\udfff",
    "\\ud800",
    "a\nb",
    "a\\nb",
    '"} 1\nmonitor_checks 9 #',
  ]),
];

const LOCATIONS: readonly LocationVote[] = [
  { location: "fra", condition: "critical", output: "refused", durationMs: 12.5 },
  { location: "nyc", condition: null, output: "no live member", durationMs: null },
];

const WEB = checkOf("web", { performanceData: EVERYTHING, locations: LOCATIONS }, 'Our "site"');
const ALERT = { rate: 14.4, sinceMs: 1_800_000_000_000, isTold: true };
const BURNING = { ...WEB.record.condition, burn: { recent: [], days: [], alert: ALERT } };

const VALUES = {
  everything: valuesOf({
    checks: [
      { ...WEB, record: { ...WEB.record, condition: BURNING } },
      agentCheckOf("nas", { waiting_results: 5, dropped_results: 6, rejected_checks: 7 }),
    ],
    reporting: {
      stream: "s",
      received: 1,
      dropped: 8,
      rejected: [],
      sentAtMs: 1_800_000_000_250,
      failure: null,
      waiting: 9,
    },
  }),
  unseen: valuesOf({
    checks: [{ ...checkOf("new"), record: recordOf("new", { last: null, nextRunAtMs: null }) }],
    channels: [],
    schedulerLagMs: null,
    isReloadSuccessful: null,
    sharing: null,
  }),
  named: valuesOf({ name: 'the "web" one' }),
  hostile: valuesOf({
    checks: LABELS.map((name, place) => {
      // Each label is that of a metric, and of ten checks.
      const labels = [...LABELS, ...LABELS].slice(place, place + 10);
      const metrics = Object.fromEntries(labels.map((label, index) => [label, index]));
      return checkOf(name, { metrics, performanceData: `'${name}'=1` }, name);
    }),
    channels: LABELS.map((name) => ({ ...channelOf(name), isLimited: null })),
  }),
  many: valuesOf({ checks: Array.from({ length: 1200 }, (_, index) => checkOf(`check ${index}`)) }),
} as const;

testWith("promtool")("renderMetrics() prints metrics that promtool accepts", async (t) => {
  for (const [name, values] of Object.entries(VALUES)) {
    await t.step(name, async () => {
      const text = await renderMetrics(values, noPause);
      assert.deepEqual(await promtool(["check", "metrics"], text), { code: 0, text: "" });
    });
  }
});

Deno.test("renderMetrics() prints OpenMetrics with counters named without their suffix, and # EOF", async () => {
  const text = await renderMetrics(VALUES.everything, noPause, "openmetrics");
  assert.match(text, /\n# EOF\n$/);
  const families = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => ({
    name,
    type,
  }));
  assert.equal(new Set(families.map(({ name }) => name)).size, families.length, "no family is there twice");
  for (const { name, type } of families) {
    const sample = type === "counter" ? `${name}_total` : name;
    assert.match(text, new RegExp(`^${sample}[ {]`, "m"));
    assert.ok(!name.endsWith("_total"), name);
  }
  const samples = (of: string): readonly string[] => of.split("\n").filter((line) => !line.startsWith("#"));
  assert.deepEqual(samples(text), samples(await renderMetrics(VALUES.everything, noPause)));
});

Deno.test("renderMetrics() writes every family", async () => {
  const text = await renderMetrics(VALUES.everything, noPause);
  for (const [name, help] of Object.entries(FAMILIES)) {
    const type = metricType(name);
    assert.ok(text.includes(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name}`), name);
  }
  const samples = samplesOf(text);
  for (
    const sample of [
      'build_info{version="1.2.3"} 1',
      "last_loop_timestamp_seconds 1800000000.5",
      "scheduler_lag_seconds 0.0015",
      'members{member="nyc-1"} 0',
      'check_info{check="web",kind="test",title="Our \\"site\\""} 1',
      'check_status{check="web",condition="warning"} 1',
      'check_confirmed_timestamp_seconds{check="web"} 1769853540',
      'check_suppressed{check="web",by="maintenance"} 1',
      'check_burn_rate{check="web"} 14.4',
      'check_last_run_timestamp_seconds{check="web"} 1769853599.988',
      'check_late_seconds{check="web"} 0.003',
      'check_failures_total{check="web",condition="critical"} 2',
      'check_run_seconds_total{check="web"} 0.1595',
      'check_location_condition{check="web",location="fra"} 2',
      'check_location_duration_seconds{check="web",location="fra"} 0.0125',
      'check_metric{check="web",metric="status"} 500',
      'check_metric_percentile{check="web",metric="/",unit="bytes",percentile="p95"} 6500000',
      'check_metric_percentile{check="web",metric="/_2",unit="bytes",percentile="p50"} 5000000000',
      'check_metric_percentile{check="web",metric="cpu",unit="ratio",percentile="p95"} 0.065',
      'check_metric_percentile{check="web",metric="odd (furlong)",unit="",percentile="p99"} 7',
      'check_performance{check="web",label="share",unit="ratio"} 0.8',
      'check_performance{check="web",label="users_2",unit=""} 4',
      'check_performance_cumulative_total{check="web",label="hits",unit=""} 7',
      'check_performance_bound{check="web",label="size",unit="bytes",bound="max"} 4096',
      'agent_last_report_timestamp_seconds{agent="nas"} 1800000000.75',
      'agent_dropped_results_total{agent="nas"} 6',
      "reports_last_timestamp_seconds 1800000000.25",
      "reports_waiting 9",
      'check_performance_bound{check="web",label="time",unit="seconds",bound="warning_low"} 0.01',
    ]
  ) assert.ok(samples.includes(`monitor_${sample}`), sample);
  // The six counts of a channel, and whether it is limited.
  const ofChannel = samples.filter((sample) => sample.includes('{channel="console"}'));
  assert.deepEqual(ofChannel.map((sample) => sample.split(" ").at(-1)).join(), "3,4,5,8,6,7,1");
});

Deno.test("renderMetrics() prints conditions as exit codes", async () => {
  for (const [code, condition] of (["ok", "warning", "critical", "unknown"] as const).entries()) {
    const text = await renderMetrics(valuesOf({ checks: [checkOf("web", { condition })] }), noPause);
    assert.ok(samplesOf(text).includes(`monitor_check_condition{check="web"} ${code}`), condition);
  }
});

Deno.test("renderMetrics() prints no condition and no number of a last run as present unless it is", async (t) => {
  const web = checkOf("web", { condition: "ok", metrics: { status: 200 }, performanceData: "time=1s" });
  const rows: Rows<[known: Omit<CheckMetrics["known"], "last">, numbers: number]> = {
    "current": [{ condition: "ok", state: "current" }, 2],
    "in the future": [{ condition: "unknown", state: "in_future" }, 0],
    "pending": [{ condition: "pending", state: "current" }, 2],
    "overdue": [{ condition: "unknown", state: "overdue" }, 0],
    "a stopped service": [{ condition: "unknown", state: "not_running" }, 0],
  };
  await testRows(t, rows, async ([known, numbers]) => {
    const checks = [{ ...web, known: { ...known, last: "ok" as const } }];
    const samples = samplesOf(await renderMetrics(valuesOf({ checks }), noPause));
    const shown = known.condition;
    const valueOf = (name: string): string | undefined =>
      samples.find((sample) => sample.startsWith(`${name}{check="web"}`))?.split(" ").at(-1);
    assert.ok(samples.includes(`monitor_check_status{check="web",condition="${shown}"} 1`));
    const code = { ok: "0", unknown: "3", pending: undefined }[shown as "ok" | "unknown" | "pending"];
    assert.equal(valueOf("monitor_check_confirmed_condition"), code);
    assert.equal(valueOf("monitor_check_condition"), code ?? "0");
    assert.equal(
      samples.filter((sample) => /^monitor_check_(?:metric|performance)\{/.test(sample)).length,
      numbers,
    );
  });
});

Deno.test("renderMetrics() omits values without data", async () => {
  const text = await renderMetrics(VALUES.unseen, noPause);
  const named = new Set(samplesOf(text).map((line) => line.replace(/[{ ].*/, "")));
  const families = ["check_condition", "check_confirmed_condition", "scheduler_lag_seconds", "members"];
  for (const name of families.map((family) => `monitor_${family}`)) {
    assert.ok(!named.has(name), name);
    assert.ok(!text.includes(`# HELP ${name} `), name);
  }
  assert.ok(named.has("monitor_check_info"));
});

Deno.test("renderMetrics() adds the monitor's name to every sample", async () => {
  const text = await renderMetrics(VALUES.named, noPause);
  assert.deepEqual(samplesOf(text).filter((line) => !/[{,]monitor="the \\"web\\" one"\} /.test(line)), []);
});

Deno.test("renderMetrics() adds up channels with the same name", async () => {
  const [channel = assert.fail()] = valuesOf().channels;
  const samples = samplesOf(await renderMetrics(valuesOf({ channels: [channel, channel] }), noPause));
  assert.equal(samples.slice(-7).map((sample) => sample.split(" ").at(-1)).join(), "6,8,10,16,12,14,1");
});

Deno.test("renderMetrics() escapes labels of hostile texts, and keeps them distinct", async () => {
  const text = await renderMetrics(VALUES.hostile, noPause);
  assert.ok(text.isWellFormed());
  assert.deepEqual(unsafeCodes(text), []);
  assert.equal(
    samplesOf(text).filter((line) => line.startsWith("monitor_check_info{")).length,
    LABELS.length,
  );
  assert.equal(
    new Set(samplesOf(text).map((line) => line.replace(/ \S+$/, ""))).size,
    samplesOf(text).length,
  );
});

Deno.test("renderMetrics() pauses after some hundred checks, with the same output", async () => {
  let pauses = 0;
  const text = await renderMetrics(VALUES.many, () => {
    pauses++;
    return Promise.resolve();
  });
  assert.equal(pauses, 4);
  assert.equal(samplesOf(text).filter((line) => line.startsWith("monitor_check_condition{")).length, 1200);
  assert.equal(text.match(/# HELP monitor_check_condition /g)?.length, 1);
});

function samplesOf(text: string): readonly string[] {
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

Deno.test("measurementsOf() brings units to their base", () => {
  const rows: readonly (readonly [text: string, value: number | null, unit: string])[] = [
    ["x=5", 5, ""],
    ["x=U", null, ""],
    ["x=59ms", 0.059, "seconds"],
    ["x=7us", 0.000007, "seconds"],
    ["x=1d", 86400, "seconds"],
    ["x=12.5%", 0.125, "ratio"],
    ["x=9B", 9, "bytes"],
    ["x=2kB", 2000, "bytes"],
    ["x=2MB", 2e6, "bytes"],
    ["x=2GiB", 2 * 1024 ** 3, "bytes"],
    ["x=2Mb", 2, "Mb"],
    ["x=2C", 2, "C"],
  ];
  for (const [text, value, unit] of rows) {
    const bounds: never[] = [];
    assert.deepEqual(measurementsOf(text), [{ label: "x", unit, isCounter: false, value, bounds }], text);
  }
  assert.deepEqual(measurementsOf("x=4c"), [{ label: "x", unit: "", isCounter: true, value: 4, bounds: [] }]);
});

Deno.test("measurementsOf() returns the bounds of ranges", () => {
  const rows: readonly (readonly [range: string, low: number | null, high: number | null])[] = [
    ["10", null, 10],
    ["10:", 10, null],
    ["~:10", null, 10],
    ["5:10", 5, 10],
    [":10", null, 10],
    ["@5:10", null, null],
    ["", null, null],
  ];
  for (const [range, low, high] of rows) {
    const [measurement] = measurementsOf(`x=1s;;${range}`);
    const bound = (kind: string): number | null =>
      measurement?.bounds.find((one) => one.kind === kind)?.value ?? null;
    assert.deepEqual([bound("critical_low"), bound("critical")], [low, high], range);
  }
});

Deno.test("measurementsOf() distinguishes duplicate labels of a plugin", () => {
  const labels = measurementsOf("x=1 x=2 x_2=3 x=4 'it''s a \"label\"'=5").map(({ label }) => label);
  assert.deepEqual(labels, ["x", "x_2", "x_2_2", "x_3", 'it\'s a "label"']);
});
