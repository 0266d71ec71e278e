/** A limit: in the unit of what is measured, or a share of the whole. */
export type Limit = number | { readonly percent: number };

/** When a measured value is a problem. A value that equals a limit is none. */
export interface Thresholds {
  readonly warningBelow?: Limit;
  readonly criticalBelow?: Limit;
  readonly warningAbove?: Limit;
  readonly criticalAbove?: Limit;
}
