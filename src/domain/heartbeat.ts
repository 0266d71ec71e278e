/** A sign of life for something else that watches the monitor. */
export interface Heartbeat {
  /** A file to touch; absolute. */
  readonly path?: string;
  /** An address to request. */
  readonly target?: string;
  /** Time from one sign to the next. */
  readonly intervalMs: number;
}
