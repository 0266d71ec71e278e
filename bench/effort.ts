/** How long and how often benchmarks measure. */
export interface Effort {
  /** Whether the numbers are good for nothing but to see that a benchmark works. */
  readonly isShort: boolean;
  /** The number of rounds, if the benchmark depends on it. */
  rounds(enough: number): number;
  /** For how many seconds, where so many make a good number. */
  seconds(enough: number): number;
}

/** Without a limit of time. */
export const FULL_EFFORT: Effort = {
  isShort: false,
  rounds: (enough) => enough,
  seconds: (enough) => enough,
};

/** As short as it can be. */
export const SHORT_EFFORT: Effort = {
  isShort: true,
  rounds: () => 1,
  seconds: (enough) => Math.min(enough, 5),
};
