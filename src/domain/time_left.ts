/** How long before its end a certificate is told. Whole seconds, 1000 or more. */
export interface TimeLeft {
  /** With less time left than this it is `warning`. */
  readonly warningBeforeExpiryMs: number;
  /** With less time left than this it is `critical`, whatever the other one. */
  readonly criticalBeforeExpiryMs: number;
}
