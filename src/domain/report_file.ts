/** The file of the HTML report. */
export interface ReportFile {
  /** Absolute. */
  readonly path: string;
  readonly intervalMs: number;
}
