/** A range of numbers in the syntax of the Monitoring Plugins ("Threshold and Ranges"). */
export interface Range {
  /** As it is written, such as `10:20`. */
  readonly text: string;
  /** A decimal number with every digit; `null`: no limit. */
  readonly from: string | null;
  /** A decimal number with every digit; `null`: no limit. */
  readonly to: string | null;
  /** Whether the numbers within the range are the problem, not those outside. */
  readonly isInverted: boolean;
}
