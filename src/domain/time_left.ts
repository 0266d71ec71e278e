/** Limits of the time until a certificate expires. Whole seconds, 1000 or more. */
export interface TimeLeft {
  /** With less time left than this it is `warning`. */
  readonly warningBeforeExpiryMs: number;
  /** With less time left than this it is `critical`, regardless of the other limit. */
  readonly criticalBeforeExpiryMs: number;
}
