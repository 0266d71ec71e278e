/** The measured values of a check by hour: how often there was one, their total, lowest, highest and histogram. Pure. */
import type { CheckResult } from "../domain/check.ts";
import type { LastMetricHour, MetricSums, Rollup } from "../domain/store.ts";
import { addValue, addValueHistograms, type Percentiles, valuePercentiles } from "../shared/histograms.ts";
import { parsePerformanceData } from "../shared/performance_data.ts";
import { HOUR_MS } from "../shared/time_units.ts";
import { startOf } from "./retention.ts";

/** How many values of a check are kept by hour: the first ones. */
export const MEASURED_MAX = 8;

/** A metric that is the threshold of another one, such as `free_percent_critical_below`. */
export const THRESHOLD = /^(.+)_((?:warning|critical)_(?:below|above))$/;

/** Codes, times, and parts of the duration, of which there is a histogram. */
const UNMEASURED =
  /^(?:status|exit_code|(?:total|connect|head|lookup|step_.*)_ms)$|_(?:left|timestamp)_seconds$/;

type Measured = Pick<CheckResult, "metrics" | "performanceData">;

/** Returns the values of a result by name: metrics, and performance data with its unit, such as `load1` or `/ (MB)`. */
export function valuesOf({ metrics, performanceData }: Measured): ReadonlyMap<string, number> {
  return finiteValues(Object.entries(metrics), performanceData);
}

function finiteValues(
  metrics: readonly (readonly [string, number])[],
  performanceData: string,
): ReadonlyMap<string, number> {
  const data = parsePerformanceData(performanceData).filter(({ unit }) => unit !== "c")
    .map(({ label, value, unit }) => [unit === "" ? label : `${label} (${unit})`, Number(value)] as const);
  return new Map([...metrics, ...data].filter(([, value]) => Number.isFinite(value)));
}

/** Returns those of them that are kept by hour. */
function measuredValues({ metrics, performanceData }: Measured): readonly (readonly [string, number])[] {
  const own = Object.entries(metrics).filter(([name]) => !THRESHOLD.test(name) && !UNMEASURED.test(name));
  if (own.length === 0 && performanceData === "") return [];
  return [...finiteValues(own, performanceData)].slice(0, MEASURED_MAX);
}

/**
 * Adds the values of a result to those of its hour. The hour before is kept, to which the clock may return, and a later
 * one, after the clock was ahead.
 */
export function addMeasured(
  before: LastMetricHour | null,
  result: Measured,
  nowMs: number,
): LastMetricHour | null {
  const startMs = startOf(nowMs, HOUR_MS);
  const values = measuredValues(result);
  if (values.length === 0) return before;
  const { others: known = [], ...last } = before ?? { startMs, sums: {} };
  const hour = [last, ...known].find((one) => one.startMs === startMs);
  const others = [last, ...known].filter((one, index) =>
    one !== hour && (index === 0 || hour === last || one.startMs > startMs)
  ).slice(0, 2);
  const sums = new Map(Object.entries(hour?.sums ?? {}));
  for (const [name, value] of values) {
    if (!sums.has(name) && sums.size >= MEASURED_MAX) continue;
    const [runs = 0, total = 0, min = value, max = value, ...histogram] = sums.get(name) ?? [];
    sums.set(name, [
      ...[runs + 1, total + value, Math.min(min, value), Math.max(max, value)],
      ...addValue(histogram, value),
    ]);
  }
  // What is beyond all numbers can't be stored.
  return {
    startMs,
    sums: Object.fromEntries([...sums].filter(([, [, total]]) => Number.isFinite(total))),
    ...others.length > 0 && { others },
  };
}

type Sum = MetricSums[string];

function addSums(sums: readonly Sum[]): Sum {
  const [runs = 0, total = 0] = [0, 1].map((index) =>
    sums.reduce((subtotal, sum) => subtotal + (sum[index] ?? 0), 0)
  );
  const [min, max] = [
    Math.min(...sums.map(([, , min = 0]) => min)),
    Math.max(...sums.map(([, , , max = 0]) => max)),
  ];
  return [runs, total, min, max, ...addValueHistograms(sums.map((sum) => sum.slice(4)))];
}

export function addMetrics(hours: readonly MetricSums[]): MetricSums {
  const byName = Map.groupBy(hours.flatMap((sums) => Object.entries(sums)), ([name]) => name);
  return Object.fromEntries([...byName].map(([name, all]) => [name, addSums(all.map(([, sum]) => sum))]));
}

/** Returns the sums of some hours; `null`: some are of days, which have none. */
export function sumMetrics(rollups: readonly Pick<Rollup, "spanMs" | "metrics">[]): MetricSums | null {
  if (rollups.some(({ spanMs }) => spanMs > HOUR_MS)) return null;
  return addMetrics(rollups.flatMap(({ metrics }) => metrics === null ? [] : [metrics]));
}

/** What is known of the values of a time. */
export interface MeasuredValues {
  readonly runs: number;
  readonly min: number;
  readonly mean: number;
  readonly max: number;
  /** `null`: some were recorded before there were histograms. */
  readonly percentiles: Percentiles | null;
}

export function measuredIn([runs = 0, total = 0, min = 0, max = 0, ...histogram]: Sum): MeasuredValues {
  return { runs, min, mean: total / runs, max, percentiles: valuePercentiles(histogram, { runs, min, max }) };
}
