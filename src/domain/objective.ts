/** A service level objective: the share of a time in which a check is to be up. */
export interface Objective {
  /** In percent; above 0, and 100 at most. */
  readonly percent: number;
  /** The time that it refers to, milliseconds; it ends with the period of a summary. */
  readonly windowMs: number;
}
