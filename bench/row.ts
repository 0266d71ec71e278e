/** One number that a benchmark found. */
export interface Row {
  /** The measured value, and its baseline. */
  readonly name: string;
  /** `null` if it could not be measured here; the note has the reason. */
  readonly value: number | null;
  /** `×` for a ratio, else a unit such as `ms` or `checks/s`. */
  readonly unit: string;
  /** The inputs of the value, such as the absolute times of a ratio. */
  readonly note?: string;
  /** The maximum aimed for; absent if there is no aim. */
  readonly aim?: number;
}
