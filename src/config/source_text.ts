export interface Source {
  /** The name in messages: the path as given, or `<stdin>`. */
  readonly label: string;
  /** Absolute path; `null` for standard input. */
  readonly path: string | null;
  /** The directory that relative paths start from, absolute. */
  readonly directory: string;
  /** Decoded from UTF-8, without a byte-order mark. */
  readonly text: string;
  /** Permission bits of the file; `null` where there are none. */
  readonly mode: number | null;
}
