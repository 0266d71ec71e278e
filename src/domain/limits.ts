/** A limit: in the unit of the measured value, or a share of the whole. */
export type Limit = number | { readonly percent: number };

/** Limits of a measured value. A value that equals a limit is no problem. */
export interface Thresholds {
  readonly warningBelow?: Limit;
  readonly criticalBelow?: Limit;
  readonly warningAbove?: Limit;
  readonly criticalAbove?: Limit;
}

/** A service level objective: the share of a time in which a check is to be up. */
export interface Objective {
  /** In percent; above 0, and 100 at most. */
  readonly percent: number;
  /** The time that it refers to, milliseconds; it ends with the period of a summary. */
  readonly windowMs: number;
}

/** Returns the error budget: the downtime that an objective permits in a time. Rounded, so that 100 - 99.9 is 0.1. */
export function errorBudgetMs({ percent }: Pick<Objective, "percent">, ms: number): number {
  return Math.round(ms * Number((100 - percent).toFixed(9)) / 100);
}

/** The most messages that leave a channel in any window of a length. */
export interface MessageLimit {
  /** 1 to 1000. */
  readonly count: number;
  readonly windowMs: number;
}

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
