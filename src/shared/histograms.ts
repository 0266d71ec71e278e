/**
 * Histograms of durations: how many runs took how long, in logarithmic buckets, so that those of several hours add up to
 * that of all. The bounds are the preferred numbers R5 (ISO 3): five to a decade, each 1.6 times the one before.
 */

/** The number of runs in each bucket: that of a bound up to it, the last one those beyond all bounds. */
export type Histogram = readonly number[];

/** The upper bounds of the buckets, in milliseconds: from 1 ms to 63 s. */
export const BOUNDS_MS: readonly number[] = [1, 10, 100, 1000, 10_000]
  .flatMap((decade) => [1, 1.6, 2.5, 4, 6.3].map((number) => number * decade));

const BUCKETS = BOUNDS_MS.length + 1;

export const NO_RUNS: Histogram = Array.from({ length: BUCKETS }, () => 0);

/** Made once: each run has one. */
const OF_ONE_RUN: readonly Histogram[] = NO_RUNS.map((_, bucket) => NO_RUNS.with(bucket, 1));

export function histogramOf(durationMs: number): Histogram {
  let bucket = 0;
  while (durationMs > (BOUNDS_MS[bucket] ?? Infinity)) bucket++;
  return OF_ONE_RUN[bucket] ?? NO_RUNS;
}

export function addHistograms(one: Histogram, other: Histogram): Histogram {
  return one.map((runs, bucket) => runs + (other[bucket] ?? 0));
}

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

interface Durations {
  readonly runs: number;
  readonly durations: Histogram;
  readonly durationMaxMs: number;
}

/**
 * Returns the percentiles of the durations of some runs, in milliseconds; `null`: there was no run, or the bucket of some
 * of them is not known. They are at most 1.6 times off from 1 ms on.
 */
export function percentilesOf({ runs, durations, durationMaxMs }: Durations): Percentiles | null {
  const boundMs = (bucket: number): number => Math.min(BOUNDS_MS[bucket] ?? Infinity, durationMaxMs);
  return percentilesIn(
    durations,
    runs,
    (bucket) => [bucket === 0 ? 0 : boundMs(bucket - 1), boundMs(bucket)],
  );
}

/**
 * Returns the values that a share of all did not exceed: by nearest rank, interpolated within its bucket, as
 * `histogram_quantile` of Prometheus does. So it is in the bucket of the real one. `null`: there was none, or the bucket of
 * some of them is not known.
 */
export function percentilesIn(
  counts: readonly number[],
  runs: number,
  boundsOf: (bucket: number) => readonly [lower: number, upper: number],
): Percentiles | null {
  const known = counts.reduce((sum, count) => sum + count, 0);
  if (known === 0 || known !== runs) return null;
  const percentile = (share: number): number => {
    let rank = share * runs;
    let bucket = 0;
    while (rank > (counts[bucket] ?? Infinity)) rank -= counts[bucket++] ?? 0;
    const [lower, upper] = boundsOf(bucket);
    return lower + (upper - lower) * (rank / (counts[bucket] ?? 1));
  };
  return { p50: percentile(0.5), p95: percentile(0.95), p99: percentile(0.99) };
}
