/** A heartbeat for something else that watches the monitor. */
export interface Heartbeat {
  /** A file to touch; absolute. */
  readonly path?: string;
  readonly target?: string;
  readonly intervalMs: number;
}
