/** A range of numbers in the syntax of the Monitoring Plugins ("Threshold and Ranges"). */
export interface Range {
  /** As it is written, such as `10:20`. */
  readonly text: string;
  /** May be `-Infinity`. */
  readonly from: number;
  /** May be `Infinity`. */
  readonly to: number;
  /** Whether the numbers within the range are the problem, not those outside. */
  readonly isInverted: boolean;
}
