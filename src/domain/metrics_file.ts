/** A file with the monitor's metrics, for something else that gathers them. */
export interface MetricsFile {
  /** Absolute. */
  readonly path: string;
  readonly intervalMs: number;
  /** Distinguishes the metrics of several monitors on one machine; absent if there is one. */
  readonly name?: string;
}
