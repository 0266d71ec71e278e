/** One number that a benchmark found. */
export interface Row {
  /** What was measured, and against what. */
  readonly name: string;
  /** `null` when it could not be measured here; the note says why. */
  readonly value: number | null;
  /** `×` for a ratio, else a unit such as `ms` or `checks/s`. */
  readonly unit: string;
  /** What the value was made of, such as the absolute times behind a ratio. */
  readonly note?: string;
  /** What the value is to be at most; left out where there is no aim. */
  readonly aim?: number;
}
