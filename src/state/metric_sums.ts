/** The measured values of a check by hour: how often there was one, and their total, lowest and highest. Pure. */
import type { CheckResult } from "../domain/check.ts";
import type { MetricHour, MetricSums, Rollup } from "../domain/store.ts";
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

/** Returns the measured values of a result by name: metrics, and performance data with its unit, such as `load1` or `/ (MB)`. */
function measuredValues({ metrics, performanceData }: Measured): readonly (readonly [string, number])[] {
  const own = Object.entries(metrics).filter(([name]) => !THRESHOLD.test(name) && !UNMEASURED.test(name));
  const data = performanceData === ""
    ? []
    : parsePerformanceData(performanceData).filter(({ unit }) => unit !== "c")
      .map(({ label, value, unit }) => [unit === "" ? label : `${label} (${unit})`, Number(value)] as const);
  return [...new Map([...own, ...data].filter(([, value]) => Number.isFinite(value)))].slice(0, MEASURED_MAX);
}

/** Adds the values of a result to those of its hour; `null`: it has none, and the hour had none. */
export function addMeasured(before: MetricHour | null, result: Measured, nowMs: number): MetricHour | null {
  const startMs = startOf(nowMs, HOUR_MS);
  const hour = before?.startMs === startMs ? before : null;
  const values = measuredValues(result);
  if (values.length === 0) return hour;
  const sums = new Map(Object.entries(hour?.sums ?? {}));
  for (const [name, value] of values) {
    if (sums.has(name) || sums.size < MEASURED_MAX) {
      sums.set(name, addSums(sums.get(name), [1, value, value, value]));
    }
  }
  // What is beyond all numbers can't be stored.
  return { startMs, sums: Object.fromEntries([...sums].filter(([, sum]) => sum.every(Number.isFinite))) };
}

type Sum = MetricSums[string];

function addSums(before: Sum | undefined, [runs = 0, total = 0, min = 0, max = 0]: Sum): Sum {
  const [runsBefore = 0, totalBefore = 0, minBefore = min, maxBefore = max] = before ?? [];
  return [runsBefore + runs, totalBefore + total, Math.min(minBefore, min), Math.max(maxBefore, max)];
}

/** Returns the sums of some hours; `null`: some are of days, which have none. */
export function sumMetrics(rollups: readonly Pick<Rollup, "spanMs" | "metrics">[]): MetricSums | null {
  if (rollups.some(({ spanMs }) => spanMs > HOUR_MS)) return null;
  const sums = new Map<string, Sum>();
  for (const [name, sum] of rollups.flatMap(({ metrics }) => Object.entries(metrics ?? {}))) {
    sums.set(name, addSums(sums.get(name), sum));
  }
  return Object.fromEntries(sums);
}
