/** The page in HTML that a config wants to be kept fresh. */
export interface PageFile {
  /** Absolute. */
  readonly path: string;
  /** Time from one page to the next. */
  readonly intervalMs: number;
}
