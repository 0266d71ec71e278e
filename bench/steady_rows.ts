import { median, megabytesText, quantile } from "./measure.ts";
import type { Row } from "./row.ts";
import type { SteadySample } from "./steady_process.ts";

/** One side of a comparison at a steady rate. */
export interface SteadySide {
  /** The display name. */
  readonly name: string;
  /** The samples, round by round. */
  readonly samples: readonly (SteadySample & { readonly lagMs?: readonly number[] })[];
  /** How many pieces of work it was to do in a second. */
  readonly perSecond: number;
}

/**
 * Compares the processor time for each operation, and the memory, of two sides. Both must have kept the rate, or the
 * row notes it: a side that did less did not do it cheaper.
 */
export function compareSteady(
  name: string,
  side: SteadySide,
  against: SteadySide,
  { aim }: { readonly aim?: number } = {},
): readonly Row[] {
  const [cost, bareCost] = [costUs(side), costUs(against)];
  const cpuNotes = [
    `${cost.toFixed(0)} µs to ${bareCost.toFixed(0)} µs each`,
    `${shareOf(side).toFixed(1)} % to ${shareOf(against).toFixed(1)} % of a processor`,
    rateText(side, against),
    lagText(side),
  ];
  const [resident, bareResident] = [side, against].map((one) => typical(one, "residentBytes"));
  const [peak, barePeak] = [side, against].map((one) => typical(one, "peakBytes"));
  return [
    {
      name: `${name} to ${against.name}, processor time`,
      value: cost / bareCost,
      unit: "×",
      ...(aim !== undefined && { aim }),
      note: cpuNotes.filter((note) => note !== "").join("; "),
    },
    {
      name: `${name} to ${against.name}, resident memory`,
      value: (resident ?? NaN) / (bareResident ?? NaN),
      unit: "×",
      note: `${megabytesText(resident ?? NaN)} to ${megabytesText(bareResident ?? NaN)}; peak ${
        megabytesText(peak ?? NaN)
      } to ${megabytesText(barePeak ?? NaN)}`,
    },
  ];
}

/** Processor time for each piece of work, in microseconds. */
export function costUs({ samples }: SteadySide): number {
  return median(samples.map(({ cpuMs, runs }) => cpuMs * 1000 / runs));
}

/** The share of one processor, in percent. */
export function shareOf({ samples }: SteadySide): number {
  return median(samples.map(({ cpuMs, seconds }) => cpuMs / seconds / 10));
}

/** Returns the median of the rounds. */
export function typical({ samples }: SteadySide, member: "residentBytes" | "peakBytes"): number {
  return median(samples.map((sample) => sample[member]));
}

/** The tolerance of a rate before a row notes it: checks are spread by their names, so not evenly. */
const RATE_TOLERANCE = 0.05;

/** Describes a side that did not reach its rate. */
export function rateText(...sides: readonly SteadySide[]): string {
  const rates = sides.map(({ samples }) => median(samples.map(({ runs, seconds }) => runs / seconds)));
  const isKept = sides.every(({ perSecond }, index) =>
    Math.abs((rates[index] ?? NaN) / perSecond - 1) <= RATE_TOLERANCE
  );
  const text = rates.map((rate) => rate.toFixed(1)).join(" and ");
  return isKept ? `${text} done a second` : `NOT THE RATE: ${text} done a second`;
}

/** Describes the lag of runs, if measured. */
export function lagText({ samples }: SteadySide): string {
  const lagMs = samples.flatMap((sample) => sample.lagMs ?? []);
  if (lagMs.length === 0) return "";
  const text = (share: number): string => quantile(lagMs, share).toFixed(0);
  return `late by ${text(0.5)} ms (median), ${text(0.99)} ms (p99)`;
}
