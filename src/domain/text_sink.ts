/** A place for text: the process's stdout or stderr. */
export interface TextSink {
  /** Writes all of it, in order; after the reader has gone it does nothing and `closed` is true. */
  write(text: string): void;
  /** Whether the reader has gone, as noticed by a `write`. */
  readonly closed: boolean;
  /** Whether it leads to a terminal, rather than to a file or a pipe. */
  readonly isTerminal: boolean;
  /** Width of the terminal; `null` off a terminal. */
  columns(): number | null;
}
