import type { Check } from "../../domain/check.ts";
import type { KnownCondition } from "../../domain/check_kind.ts";
import { type Condition, CONDITION_CODES, CONDITIONS } from "../../domain/condition.ts";
import type { LocationVote } from "../../domain/location.ts";
import type { CheckRecord, KeptResult } from "../../domain/store.ts";
import {
  createExposition,
  type Exposition,
  labelText,
  type MetricsFormat,
  type Sample,
} from "./exposition.ts";
import { FAMILIES } from "./families.ts";
import { type Measurement, measurementsOf } from "./measurements.ts";

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

export interface CheckMetrics {
  readonly check: Check;
  readonly record: CheckRecord;
  /** What is known about it now. */
  readonly known: KnownCondition;
  /** `null`: neither suppresses its notifications. */
  readonly suppressedBy: "silence" | "maintenance" | null;
}

export interface SharingMetrics {
  /** Whether the last heartbeat of this member succeeded. */
  readonly isConnected: boolean;
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
  readonly checks: readonly CheckMetrics[];
  readonly inactiveChecks: number;
  readonly channels: readonly ChannelMetrics[];
}

/** How many checks are written at a time: some ten milliseconds. */
const CHECKS_AT_A_TIME = 250;

/** Writes values in a format. With many checks, `pause` yields to other work in between. */
export async function renderMetrics(
  values: MetricValues,
  pause: () => Promise<void>,
  format: MetricsFormat = "prometheus",
): Promise<string> {
  const exposition = createExposition(
    format,
    values.name === undefined ? "" : labelText("monitor", values.name),
  );
  addMonitor(exposition, values);
  const checks = withLabels(values.checks);
  for (let start = 0; start < checks.length; start += CHECKS_AT_A_TIME) {
    if (start > 0) await pause();
    addChecks(exposition, checks.slice(start, start + CHECKS_AT_A_TIME));
  }
  addChannels(exposition, values.channels);
  return exposition.text();
}

function addMonitor(exposition: Exposition, values: MetricValues): void {
  const one = (value: number): readonly Sample[] => [["", value]];
  exposition.add(FAMILIES.build, [[labelText("version", values.version), 1]]);
  exposition.add(FAMILIES.running, one(values.isRunning === null ? NaN : Number(values.isRunning)));
  exposition.add(FAMILIES.lastLoop, one(seconds(values.lastLoopAtMs)));
  exposition.add(FAMILIES.schedulerLag, one(seconds(values.schedulerLagMs)));
  exposition.add(FAMILIES.configLoaded, one(seconds(values.configLoadedAtMs)));
  exposition.add(
    FAMILIES.reloadSuccessful,
    one(values.isReloadSuccessful === null ? NaN : Number(values.isReloadSuccessful)),
  );
  exposition.add(FAMILIES.stateWritable, one(Number(values.isStateWritable)));
  if (values.sharing !== null) {
    const { isConnected, members } = values.sharing;
    exposition.add(FAMILIES.sharedStateConnected, one(Number(isConnected)));
    exposition.add(
      FAMILIES.members,
      [...members].map(([member, isLive]) => [labelText("member", member), Number(isLive)]),
    );
  }
  exposition.add(FAMILIES.checks, one(values.checks.length));
  exposition.add(FAMILIES.inactiveChecks, one(values.inactiveChecks));
}

interface LabelledCheck extends CheckMetrics {
  readonly label: string;
  /** `null`: it never ran. */
  readonly last: KeptResult | null;
  /** Whether the last result is recent: old numbers would be taken for new ones. */
  readonly isCurrent: boolean;
}

function addChecks(exposition: Exposition, all: readonly LabelledCheck[]): void {
  const seen = all.flatMap((one) => one.last === null ? [] : [{ ...one, last: one.last }]);
  const current = seen.filter(({ isCurrent }) => isCurrent);
  exposition.add(
    FAMILIES.checkInfo,
    all.map(({ label, check }) => [
      `${label},${labelText("kind", check.kind)},${labelText("title", check.title ?? "")}`,
      1,
    ]),
  );
  exposition.add(
    FAMILIES.status,
    all.map(({ label, known }) => [`${label},${labelText("condition", known.condition)}`, 1]),
  );
  exposition.add(
    FAMILIES.condition,
    seen.map(({ label, last, isCurrent }) => [
      label,
      CONDITION_CODES[isCurrent ? last.condition : "unknown"],
    ]),
  );
  exposition.add(
    FAMILIES.confirmed,
    seen.map((
      { label, known },
    ) => [label, known.condition === "pending" ? NaN : CONDITION_CODES[known.condition]]),
  );
  exposition.add(
    FAMILIES.confirmedSince,
    seen.map(({ label, record }) => [label, seconds(record.condition.confirmedSinceMs)]),
  );
  exposition.add(
    FAMILIES.suppressed,
    all.flatMap(({ label, suppressedBy }): readonly Sample[] =>
      suppressedBy === null ? [] : [[`${label},${labelText("by", suppressedBy)}`, 1]]
    ),
  );
  exposition.add(FAMILIES.duration, seen.map(({ label, last }) => [label, seconds(last.durationMs)]));
  exposition.add(FAMILIES.lastRun, seen.map(({ label, last }) => [label, seconds(last.startedAtMs)]));
  exposition.add(
    FAMILIES.nextRun,
    all.map(({ label, record }) => [label, seconds(record.nextRunAtMs)]),
  );
  exposition.add(FAMILIES.late, seen.map(({ label, last }) => [label, seconds(last.lateMs)]));
  exposition.add(FAMILIES.missedRuns, all.map(({ label, record }) => [label, record.missedRuns]));
  exposition.add(FAMILIES.runs, all.map(({ label, record }) => [label, runsOf(record)]));
  exposition.add(
    FAMILIES.failures,
    all.flatMap(({ label, record: { runs } }) =>
      FAILURES.map(({ condition, text }): Sample => [`${label},${text}`, runs[condition]])
    ),
  );
  exposition.add(
    FAMILIES.runSeconds,
    all.map(({ label, record }) => [label, seconds(record.durationTotalMs)]),
  );
  const votes = current.flatMap(({ label, last }) =>
    (last.locations ?? []).map((vote) => ({
      ...vote,
      label: `${label},${labelText("location", vote.location)}`,
    }))
  );
  if (votes.length > 0) addLocations(exposition, votes);
  exposition.add(
    FAMILIES.metric,
    current.flatMap(({ label, last }) =>
      Object.entries(last.metrics).map(([name, value]): Sample => [
        `${label},${labelText("metric", name)}`,
        value,
      ])
    ),
  );
  addPerformance(exposition, current);
}

function addLocations(
  exposition: Exposition,
  votes: readonly (LocationVote & { readonly label: string })[],
): void {
  exposition.add(
    FAMILIES.locationCondition,
    votes.flatMap(({ label, condition }): readonly Sample[] =>
      condition === null ? [] : [[label, CONDITION_CODES[condition]]]
    ),
  );
  exposition.add(
    FAMILIES.locationDuration,
    votes.map(({ label, durationMs }) => [label, seconds(durationMs)]),
  );
}

function addPerformance(
  exposition: Exposition,
  checks: readonly { readonly label: string; readonly last: KeptResult }[],
): void {
  const all = checks.flatMap(({ label: checkLabel, last }) =>
    measurementsOf(last.performanceData).map((measurement) => ({
      measurement,
      label: `${checkLabel},${labelText("label", measurement.label)},${labelText("unit", measurement.unit)}`,
    }))
  );
  const valueOf = ({ value }: Measurement): number => value ?? NaN;
  const samples = (isCounter: boolean): readonly Sample[] =>
    all.filter(({ measurement }) => measurement.isCounter === isCounter)
      .map(({ label, measurement }) => [label, valueOf(measurement)]);
  exposition.add(FAMILIES.performance, samples(false));
  exposition.add(FAMILIES.performanceTotal, samples(true));
  exposition.add(
    FAMILIES.performanceBound,
    all.flatMap(({ label, measurement }) =>
      measurement.bounds.map(({ kind, value }): Sample => [`${label},${labelText("bound", kind)}`, value])
    ),
  );
}

function addChannels(exposition: Exposition, channels: readonly ChannelMetrics[]): void {
  const sums = new Map<string, ChannelMetrics>();
  for (const channel of channels) {
    const label = labelText("channel", channel.name);
    sums.set(label, addUp(sums.get(label), channel));
  }
  const samples = (valueOf: (channel: ChannelMetrics) => number): readonly Sample[] =>
    [...sums].map(([label, channel]) => [label, valueOf(channel)]);
  exposition.add(FAMILIES.notificationsSent, samples(({ sent }) => sent));
  exposition.add(FAMILIES.attemptsFailed, samples(({ failedAttempts }) => failedAttempts));
  exposition.add(FAMILIES.notificationsDropped, samples(({ dropped }) => dropped));
  exposition.add(FAMILIES.summarized, samples(({ summarized }) => summarized));
  exposition.add(FAMILIES.notificationsPending, samples(({ pending }) => pending));
  exposition.add(FAMILIES.notificationsRejected, samples(({ rejected }) => rejected));
  const limited = samples(({ isLimited }) => isLimited === null ? NaN : Number(isLimited));
  exposition.add(FAMILIES.channelLimited, limited);
}

function addUp(before: ChannelMetrics | undefined, { name, ...channel }: ChannelMetrics): ChannelMetrics {
  if (before === undefined) return { name, ...channel };
  return {
    name,
    sent: before.sent + channel.sent,
    failedAttempts: before.failedAttempts + channel.failedAttempts,
    dropped: before.dropped + channel.dropped,
    summarized: before.summarized + channel.summarized,
    pending: before.pending + channel.pending,
    rejected: before.rejected + channel.rejected,
    isLimited: before.isLimited === true ? true : channel.isLimited ?? before.isLimited,
  };
}

/** Numbers names that differ only in characters that no label can contain, as `x_2`, so that none hides another. */
function withLabels(checks: MetricValues["checks"]): readonly LabelledCheck[] {
  const used = new Set<string>();
  return checks.map((one) => {
    const { check, record, known } = one;
    let label = labelText("check", check.name);
    for (let number = 2; used.has(label); number++) label = labelText("check", `${check.name}_${number}`);
    used.add(label);
    return { ...one, label, last: record.last, isCurrent: known.state === "current" };
  });
}

const FAILURES: readonly { readonly condition: Condition; readonly text: string }[] = CONDITIONS
  .filter((condition) => condition !== "ok")
  .map((condition) => ({ condition, text: labelText("condition", condition) }));

function runsOf({ runs }: CheckRecord): number {
  return runs.ok + runs.unknown + runs.warning + runs.critical;
}

/** To the microsecond; `NaN`, which is left out, where there is no time. */
function seconds(ms: number | null): number {
  return ms === null ? NaN : Math.round(ms * 1000) / 1e6;
}
