/** A file with the monitor's metrics, for something else that gathers them. */
export interface MetricsFile {
  /** Absolute. */
  readonly path: string;
  readonly intervalMs: number;
  /** Tells the metrics of several monitors of one machine apart; absent where there is one. */
  readonly name?: string;
}
