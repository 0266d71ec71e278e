/** A limit: in the unit of the measured value, or a share of the whole. */
export type Limit = number | { readonly percent: number };

/** Limits of a measured value. A value that equals a limit is no problem. */
export interface Thresholds {
  readonly warningBelow?: Limit;
  readonly criticalBelow?: Limit;
  readonly warningAbove?: Limit;
  readonly criticalAbove?: Limit;
}
