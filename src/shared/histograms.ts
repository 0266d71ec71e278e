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
function percentilesIn(
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

// Histograms of values of any unit, magnitude and sign: how many are in each bucket of a logarithmic scale. That is the
// exponential histogram of OpenTelemetry's data model (`docs/specs/otel/metrics/data-model`, ExponentialHistogram), except
// that empty buckets take no space. A bucket ends `2 ** (2 ** -scale)` times as high as it begins. While there are more than
// `BUCKETS_MAX`, the scale decreases by 1, and two neighbors become one bucket. So the histogram is the same in whatever
// order its values came, or the histograms of parts of them.

/**
 * Numbers alone, so that they are short as JSON: the scale, the place of the lowest bucket, then the number of values in
 * each bucket up to the highest one. A negative number is the count of empty buckets in a row.
 */
export type ValueHistogram = readonly number[];

export const BUCKETS_MAX = 32;

/** With no more different values than buckets, a percentile is right in all its digits. */
const SCALE_MAX = 18;

/** So many digits of a percentile are returned: a bucket of the finest scale is narrower. */
const DIGITS = 5;

/** At this scale, 19 buckets are for all numbers. */
const SCALE_MIN = -8;

/** Added to an exponent, which is -1074 at least, so that no place but that of 0 is 0, down to the lowest scale. */
const EXPONENTS = 1536;

/** Returns the histogram with one more value, which is finite. */
export function addValue(histogram: ValueHistogram, value: number): ValueHistogram {
  let { scale, places, counts } = unpack(histogram);
  const place = coarser(placeOf(value), SCALE_MAX - scale);
  let index = 0;
  while ((places[index] ?? Infinity) < place) index++;
  const isNew = places[index] !== place;
  if (isNew) places.splice(index, 0, place);
  counts.splice(index, Number(!isNew), 1 + (isNew ? 0 : counts[index] ?? 0));
  // Also of damaged numbers, it ends.
  while (places.length > BUCKETS_MAX && scale > SCALE_MIN) {
    ({ places, counts } = joined(places.map((one) => coarser(one, 1)), counts));
    scale--;
  }
  return pack(scale, places, counts);
}

/** Adds some up; the scale is that of the coarsest one. */
export function addValueHistograms(histograms: readonly ValueHistogram[]): ValueHistogram {
  const all = histograms.map(unpack);
  const least = Math.min(...all.map(({ scale }) => scale));
  const sorted = all.flatMap(({ scale, places, counts }) =>
    places.map((place, index) => [coarser(place, scale - least), counts[index] ?? 0] as const)
  ).sort(([one], [other]) => one - other);
  const { places, counts } = joined(sorted.map(([place]) => place), sorted.map(([, count]) => count));
  return places.length === 0 ? [] : pack(least, places, counts);
}

/** Returns the percentiles of some values, to five digits; `null`: there was none, or the bucket of some of them is not known. */
export function valuePercentiles(
  histogram: ValueHistogram,
  { runs, min, max }: Readonly<Record<"runs" | "min" | "max", number>>,
): Percentiles | null {
  const { scale, places, counts } = unpack(histogram);
  const within = (value: number): number => Math.min(max, Math.max(min, value));
  const found = percentilesIn(counts, runs, (bucket) => {
    const place = places[bucket] ?? 0;
    const boundOf = (end: number): number =>
      within(Math.sign(place) * 2 ** ((Math.abs(place) + end) * 2 ** -scale - EXPONENTS));
    return place < 0 ? [boundOf(1), boundOf(0)] : [boundOf(0), boundOf(1)];
  });
  const rounded = (value: number): number => within(Number(value.toPrecision(DIGITS)));
  return found && { p50: rounded(found.p50), p95: rounded(found.p95), p99: rounded(found.p99) };
}

/** The number of the bucket whose upper end is not below the value; of a negative value, that of its amount, negative. */
function placeOf(value: number): number {
  if (value === 0) return 0;
  return Math.sign(value) * (Math.ceil((Math.log2(Math.abs(value)) + EXPONENTS) * 2 ** SCALE_MAX) - 1);
}

/** Returns the place at a scale that is lower by so much. */
function coarser(place: number, by: number): number {
  return Math.trunc(place / 2 ** by);
}

/** The buckets with values, the lowest one first. */
interface Buckets {
  readonly places: number[];
  readonly counts: number[];
}

/** Joins neighbors of one place. */
function joined(places: readonly number[], counts: readonly number[]): Buckets {
  const all: Buckets = { places: [], counts: [] };
  for (const [index, place] of places.entries()) {
    const isNew = place !== all.places.at(-1);
    if (isNew) all.places.push(place);
    all.counts.push((counts[index] ?? 0) + (isNew ? 0 : all.counts.pop() ?? 0));
  }
  return all;
}

function unpack(histogram: ValueHistogram): Buckets & { readonly scale: number } {
  const [scale = SCALE_MAX, lowest = 0] = histogram;
  const all: Buckets = { places: [], counts: [] };
  let place = lowest;
  for (let index = 2; index < histogram.length; index++) {
    const number = histogram[index] ?? 0;
    if (number > 0) {
      all.places.push(place++);
      all.counts.push(number);
    } else place -= number;
  }
  return { scale, ...all };
}

function pack(scale: number, places: readonly number[], counts: readonly number[]): ValueHistogram {
  const packed = [scale, places[0] ?? 0];
  for (const [index, count] of counts.entries()) {
    const empty = (places[index] ?? 0) - (index === 0 ? places[0] ?? 0 : (places[index - 1] ?? 0) + 1);
    if (empty > 0) packed.push(-empty);
    packed.push(count);
  }
  return packed;
}
