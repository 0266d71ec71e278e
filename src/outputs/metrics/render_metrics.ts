import { type Check, isAgentCheck } from "../../domain/check.ts";
import type { Percentiles } from "../../shared/histograms.ts";
import type { KnownCondition } from "../../domain/check_kind.ts";
import { CONDITION_CODES, CONDITIONS } from "../../domain/condition.ts";
import type { CheckRecord, KeptResult } from "../../domain/store.ts";
import {
  createExposition,
  type Exposition,
  type MetricName,
  type MetricsFormat,
  type Sample,
} from "./families.ts";
import { lastContactMs, type ReportingStatus } from "../agents_status.ts";
import { parsePerformanceData, type PerformanceDatum } from "../../shared/performance_data.ts";

export interface ChannelMetrics {
  /** How people call it; no secrets. */
  readonly name: string;
  readonly sent: number;
  readonly failedAttempts: number;
  readonly dropped: number;
  /** Problems that recovered before they could be sent and were counted instead of listed. */
  readonly summarized: number;
  readonly pending: number;
  readonly rejected: number;
  /** Whether its limit lets nothing through; `null`: it has sent nothing with a limit. */
  readonly isLimited: boolean | null;
}

/** Those of the present hour and the one before; `null`: not known. */
export interface KnownPercentiles {
  /** Of its durations. */
  readonly percentiles: Percentiles | null;
  /** Of each measured value, in its own unit. */
  readonly measured: readonly (readonly [name: string, percentiles: Percentiles | null])[];
}

export interface CheckMetrics extends KnownPercentiles {
  readonly check: Check;
  readonly record: CheckRecord;
  /** What is known about it now. */
  readonly known: KnownCondition;
  /** `null`: neither suppresses its notifications. */
  readonly suppressedBy: "silence" | "maintenance" | null;
}

export interface SharingMetrics {
  /** The name of this member. */
  readonly name: string;
  /** Whether the last heartbeat of this member succeeded. */
  readonly isConnected: boolean;
  /** Whether it sends without the shared state, which is unreachable. */
  readonly isOpen: boolean;
  readonly members: ReadonlyMap<string, boolean>;
}

/** Everything that metrics are made of. Times are wall time, milliseconds since 1970. */
export interface MetricValues {
  readonly version: string;
  /** Distinguishes several monitors on one machine; absent if there is one. */
  readonly name?: string;
  /** Whether the service runs, rather than having been stopped on purpose; `null` where there is no service. */
  readonly isRunning: boolean | null;
  /** The time of the loop's last known activity. */
  readonly lastLoopAtMs: number;
  /** How late its last timer was; `null` where there is no loop. */
  readonly schedulerLagMs: number | null;
  readonly configLoadedAtMs: number;
  /** Whether the last reload went well; `null` where nothing is reloaded. */
  readonly isReloadSuccessful: boolean | null;
  /** Whether the state could be written, the last time. */
  readonly isStateWritable: boolean;
  /** The members that share the state; `null` if it isn't shared, or by a single run. */
  readonly sharing: SharingMetrics | null;
  /** The reports to another monitor. @default null, none were ever sent */
  readonly reporting?: ReportingStatus | null;
  readonly checks: readonly CheckMetrics[];
  readonly inactiveChecks: number;
  readonly channels: readonly ChannelMetrics[];
  /** How many spans were dropped; `null`: none are sent. */
  readonly spansDropped: number | null;
}

/** How many checks are written at a time: some ten milliseconds. */
const CHECKS_AT_A_TIME = 250;

/** Writes values in a format. With many checks, `pause` yields to other work in between. */
export async function renderMetrics(
  values: MetricValues,
  pause: () => Promise<void>,
  format: MetricsFormat = "prometheus",
): Promise<string> {
  const exposition = createExposition(format, values.name);
  await addMetrics(exposition, values, pause);
  return exposition.text();
}

/** Adds all values. `pause` is called after each part, other than the last one. */
export async function addMetrics(
  exposition: Exposition,
  values: MetricValues,
  pause: () => Promise<void>,
): Promise<void> {
  addMonitor(exposition, values);
  const checks = withLabels(values.checks, exposition);
  for (let start = 0; start < checks.length; start += CHECKS_AT_A_TIME) {
    if (start > 0) await pause();
    addChecks(exposition, checks.slice(start, start + CHECKS_AT_A_TIME));
  }
  addChannels(exposition, values.channels);
}

function addMonitor({ add, label }: Exposition, values: MetricValues): void {
  const one = (value: number): readonly Sample[] => [["", value]];
  add("monitor_build_info", [[label("version", values.version), 1]]);
  add("monitor_running", one(flag(values.isRunning)));
  add("monitor_last_loop_timestamp_seconds", one(seconds(values.lastLoopAtMs)));
  add("monitor_scheduler_lag_seconds", one(seconds(values.schedulerLagMs)));
  add("monitor_config_loaded_timestamp_seconds", one(seconds(values.configLoadedAtMs)));
  add("monitor_config_last_reload_successful", one(flag(values.isReloadSuccessful)));
  add("monitor_state_writable", one(flag(values.isStateWritable)));
  if (values.sharing !== null) {
    const { name, isConnected, members } = values.sharing;
    add("monitor_shared_state_connected", one(flag(isConnected)));
    add("monitor_served_by_info", [[label("member", name), 1]]);
    add("monitor_members", [...members].map(([name, isLive]) => [label("member", name), flag(isLive)]));
  }
  const { reporting = null } = values;
  if (reporting !== null) {
    add("monitor_reports_last_timestamp_seconds", one(seconds(reporting.sentAtMs)));
    add("monitor_reports_waiting", one(reporting.waiting));
    add("monitor_reports_dropped_total", one(reporting.dropped));
  }
  add("monitor_opentelemetry_spans_dropped_total", one(values.spansDropped ?? NaN));
  add("monitor_checks", one(values.checks.length));
  add("monitor_checks_inactive", one(values.inactiveChecks));
}

interface LabelledCheck extends CheckMetrics {
  readonly label: string;
  /** `null`: it never ran. */
  readonly last: KeptResult | null;
  /** The last result if it is recent: old numbers would be taken for new ones. */
  readonly current: KeptResult | null;
}

function addChecks({ add, label }: Exposition, checks: readonly LabelledCheck[]): void {
  const samples = new Map<string, Sample[]>();
  for (const check of checks) {
    for (const [name, value] of Object.entries(samplesOf(check, label))) {
      const own: readonly Sample[] = typeof value === "number" ? [[check.label, value]] : value;
      const all = samples.get(name) ?? [];
      all.push(...own);
      samples.set(name, all);
    }
  }
  for (const [name, all] of samples) add(name as MetricName, all);
}

const FAILURES = CONDITIONS.filter((condition) => condition !== "ok");

const PERCENTILES = ["p50", "p95", "p99"] as const;

/** The samples of a check, in the order of the text; a number has the label of the check alone. */
function samplesOf(
  { label, check, record, last, current, known, percentiles, measured, suppressedBy }: LabelledCheck,
  labelText: Exposition["label"],
): Readonly<Partial<Record<MetricName, number | readonly Sample[]>>> {
  const labelled = (name: string, value: string): string => `${label},${labelText(name, value)}`;
  const { runs } = record;
  const locations = current?.locations ?? [];
  const measurements = measurementsOf(current?.performanceData ?? "").map((measurement) => ({
    ...measurement,
    label: `${labelled("label", measurement.label)},${labelText("unit", measurement.unit)}`,
  }));
  const performance = (wanted: boolean): readonly Sample[] =>
    measurements.filter(({ isCounter }) => isCounter === wanted).map((
      { label, value },
    ) => [label, value ?? NaN]);
  return {
    monitor_check_info: [[`${labelled("kind", check.kind)},${labelText("title", check.title ?? "")}`, 1]],
    monitor_check_status: [[labelled("condition", known.condition), 1]],
    monitor_check_condition: last === null ? NaN : CONDITION_CODES[current?.condition ?? "unknown"],
    monitor_check_confirmed_condition: last === null || known.condition === "pending"
      ? NaN
      : CONDITION_CODES[known.condition],
    monitor_check_confirmed_timestamp_seconds: last === null
      ? NaN
      : seconds(record.condition.confirmedSinceMs),
    monitor_check_suppressed: suppressedBy === null ? [] : [[labelled("by", suppressedBy), 1]],
    monitor_check_burn_rate: record.condition.burn?.alert?.rate ?? NaN,
    monitor_check_duration_seconds: seconds(last?.durationMs),
    monitor_check_duration_percentile_seconds: percentiles === null
      ? []
      : PERCENTILES.map((name) => [labelled("percentile", name), seconds(percentiles[name])]),
    monitor_check_last_run_timestamp_seconds: seconds(last?.startedAtMs),
    monitor_check_next_run_timestamp_seconds: seconds(record.nextRunAtMs),
    monitor_check_late_seconds: seconds(last?.lateMs),
    monitor_check_missed_runs_total: record.missedRuns,
    monitor_check_runs_total: runs.ok + runs.unknown + runs.warning + runs.critical,
    monitor_check_failures_total: FAILURES.map((
      condition,
    ) => [labelled("condition", condition), runs[condition]]),
    monitor_check_run_seconds_total: seconds(record.durationTotalMs),
    monitor_check_location_condition: locations.map(({ location, condition }) => [
      labelled("location", location),
      condition === null ? NaN : CONDITION_CODES[condition],
    ]),
    monitor_check_location_duration_seconds: locations.map(({ location, durationMs }) => [
      labelled("location", location),
      seconds(durationMs),
    ]),
    monitor_check_metric: Object.entries(current?.metrics ?? {})
      .map(([name, value]) => [labelled("metric", name), value]),
    monitor_check_metric_percentile: inBaseUnits(measured).flatMap(({ name, unit, factor, of }) =>
      PERCENTILES.map((percentile): Sample => [
        `${labelled("metric", name)},${labelText("unit", unit)},${labelText("percentile", percentile)}`,
        scale(of?.[percentile] ?? NaN, factor),
      ])
    ),
    ...isAgentCheck(check) && agentSamples(check.agent ?? "", last, labelText),
    monitor_check_performance: performance(false),
    monitor_check_performance_cumulative_total: performance(true),
    monitor_check_performance_bound: measurements.flatMap(({ label, bounds }) =>
      bounds.map(({ kind, value }): Sample => [`${label},${labelText("bound", kind)}`, value])
    ),
  };
}

/** What the check about an agent found. */
function agentSamples(
  agent: string,
  last: KeptResult | null,
  labelText: Exposition["label"],
): Readonly<Partial<Record<MetricName, readonly Sample[]>>> {
  const { waiting_results, dropped_results, rejected_checks } = last?.metrics ?? {};
  const sample = (
    value: number | undefined,
  ): readonly Sample[] => [[labelText("agent", agent), value ?? NaN]];
  return {
    monitor_agent_last_report_timestamp_seconds: sample(seconds(lastContactMs(last?.memory))),
    monitor_agent_waiting_results: sample(waiting_results),
    monitor_agent_dropped_results_total: sample(dropped_results),
    monitor_agent_ignored_checks: sample(rejected_checks),
  };
}

/** Channels of one name are added up. */
function addChannels({ add, label }: Exposition, channels: readonly ChannelMetrics[]): void {
  const byLabel = Map.groupBy(channels, ({ name }) => label("channel", name));
  const addSums = (name: MetricName, valueOf: (channel: ChannelMetrics) => number): void =>
    add(name, [...byLabel].map(([label, same]) => [label, same.reduce((sum, one) => sum + valueOf(one), 0)]));
  addSums("monitor_notifications_sent_total", ({ sent }) => sent);
  addSums("monitor_notification_attempts_failed_total", ({ failedAttempts }) => failedAttempts);
  addSums("monitor_notifications_dropped_total", ({ dropped }) => dropped);
  addSums("monitor_notifications_summarized_total", ({ summarized }) => summarized);
  addSums("monitor_notifications_pending", ({ pending }) => pending);
  addSums("monitor_notifications_rejected", ({ rejected }) => rejected);
  add(
    "monitor_channel_limited",
    [...byLabel].map(([label, same]) => {
      const known = same.flatMap(({ isLimited }) => isLimited ?? []);
      return [label, known.length === 0 ? NaN : Number(known.includes(true))];
    }),
  );
}

/** Numbers names that differ only in characters that no label can contain, as `x_2`, so that none hides another. */
function withLabels(
  checks: MetricValues["checks"],
  { label: labelText }: Exposition,
): readonly LabelledCheck[] {
  const used = new Set<string>();
  return checks.map((one) => {
    const { check, record, known } = one;
    let label = labelText("check", check.name);
    for (let number = 2; used.has(label); number++) label = labelText("check", `${check.name}_${number}`);
    used.add(label);
    const { last } = record;
    return { ...one, label, last, current: known.state === "current" ? last : null };
  });
}

/** `NaN`, which is left out, where it is not known. */
function flag(value: boolean | null): number {
  return value === null ? NaN : Number(value);
}

/** To the microsecond; `NaN`, which is left out, where there is no time. */
function seconds(ms: number | null | undefined): number {
  return ms === null || ms === undefined ? NaN : Math.round(ms * 1000) / 1e6;
}

/** One item of performance data, in base units. */
type Measurement = ReturnType<typeof toMeasurement>;

/** Parses a plugin's performance data and converts values with a unit to the base units of Prometheus. */
export function measurementsOf(performanceData: string): readonly Measurement[] {
  if (performanceData === "") return [];
  const used = new Map<string, number>();
  return parsePerformanceData(performanceData).map((datum) => toMeasurement(datum, used));
}

/** The unit of measured values that have one, such as `/ (MB)`, as in {@linkcode measurementsOf}; else it is empty. */
function inBaseUnits(measured: KnownPercentiles["measured"]) {
  const used = new Map<string, number>();
  return measured.map(([name, of]) => {
    const [, label = name, unit = ""] = /^(.+) \((\S+)\)$/.exec(name) ?? [];
    const known = UNITS.get(unit);
    const { base, factor } = known ?? { base: "", factor: 1 };
    return { name: uniqueLabel(known === undefined ? name : label, used), unit: base, factor, of };
  });
}

function toMeasurement(datum: PerformanceDatum, used: Map<string, number>) {
  const { base, factor } = UNITS.get(datum.unit) ?? { base: datum.unit, factor: 1 };
  const [warning = "", critical = "", min = "", max = ""] = datum.limits;
  return {
    label: uniqueLabel(datum.label, used),
    /** `seconds`, `bytes` or `ratio`, else the unit of the plugin; empty for a plain number. */
    unit: base,
    isCounter: datum.unit === "c",
    value: datum.value === "U" ? null : scale(Number(datum.value), factor),
    /** Those that the plugin gave; `low` is the lower end of the range that is ok. */
    bounds: [
      ...rangeBounds(warning, "warning"),
      ...rangeBounds(critical, "critical"),
      ...(min === "" ? [] : [{ kind: "min" as const, value: min }]),
      ...(max === "" ? [] : [{ kind: "max" as const, value: max }]),
    ].map(({ kind, value }) => ({ kind, value: scale(Number(value), factor) })),
  };
}

/** Units as plugins write them: `KB` is 1000 bytes and `KiB` 1024, as Icinga reads them too; `Mb` would be bits. */
const UNITS = new Map([
  ["c", { base: "", factor: 1 }],
  ["%", { base: "ratio", factor: 0.01 }],
  ["ns", { base: "seconds", factor: 1e-9 }],
  ["us", { base: "seconds", factor: 1e-6 }],
  ["µs", { base: "seconds", factor: 1e-6 }],
  ["ms", { base: "seconds", factor: 1e-3 }],
  ["s", { base: "seconds", factor: 1 }],
  ["m", { base: "seconds", factor: 60 }],
  ["h", { base: "seconds", factor: 3600 }],
  ["d", { base: "seconds", factor: 86_400 }],
  ["B", { base: "bytes", factor: 1 }],
  ["kB", { base: "bytes", factor: 1000 }],
  ...["K", "M", "G", "T", "P", "E"].flatMap((prefix, index) => [
    [`${prefix}B`, { base: "bytes", factor: 1000 ** (index + 1) }] as const,
    [`${prefix}iB`, { base: "bytes", factor: 1024 ** (index + 1) }] as const,
  ]),
]);

/** By division where the factor is a fraction: 59 ms are 0.059 s, and not 0.059000000000000004. */
function scale(value: number, factor: number): number {
  return factor >= 1 ? value * factor : value / Math.round(1 / factor);
}

/** The ends of a range `[@]start:end` that are written. A range inside which something is wrong has none here. */
function rangeBounds(
  range: string,
  kind: "warning" | "critical",
): readonly { readonly kind: string; readonly value: string }[] {
  if (range === "" || range.startsWith("@")) return [];
  const colon = range.indexOf(":");
  const low = colon < 0 ? "" : range.slice(0, colon);
  const high = range.slice(colon + 1);
  return [
    ...(low === "" || low === "~" ? [] : [{ kind: `${kind}_low` as const, value: low }]),
    ...(high === "" ? [] : [{ kind, value: high }]),
  ];
}

function uniqueLabel(label: string, used: Map<string, number>): string {
  let unique = label;
  let number = used.get(label) ?? 1;
  while (used.has(unique)) unique = `${label}_${++number}`;
  used.set(label, number);
  used.set(unique, used.get(unique) ?? 1);
  return unique;
}
