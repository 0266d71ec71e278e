export interface ReportFile {
  /** Absolute. */
  readonly path: string;
  readonly intervalMs: number;
  /** Tags of the checks that it shows, without their outputs; absent: it shows everything. */
  readonly public?: readonly string[];
}
