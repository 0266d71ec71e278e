/** The most messages that leave a channel in any window of a length. */
export interface MessageLimit {
  /** 1 to 1000. */
  readonly count: number;
  readonly windowMs: number;
}
