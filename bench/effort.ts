/** How long and how often benchmarks measure. */
export interface Effort {
  /** Whether the numbers are unreliable, and only show that a benchmark works. */
  readonly isShort: boolean;
  /** The number of rounds for a reliable number, or fewer with little effort. */
  rounds(enough: number): number;
  /** The number of seconds for a reliable number, or fewer with little effort. */
  seconds(enough: number): number;
  /** How often in a second, or as often as any machine can with little effort. */
  rate(enough: number): number;
}

/** Without a limit of time. */
export const FULL_EFFORT: Effort = {
  isShort: false,
  rounds: (enough) => enough,
  seconds: (enough) => enough,
  rate: (enough) => enough,
};

/** As short as it can be. */
export const SHORT_EFFORT: Effort = {
  isShort: true,
  rounds: () => 1,
  seconds: (enough) => Math.min(enough, 5),
  rate: (enough) => Math.min(enough, 50),
};
