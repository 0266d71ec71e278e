/** The page in HTML that a config wants to be kept fresh. */
export interface PageFile {
  /** Absolute. */
  readonly path: string;
  readonly intervalMs: number;
}
