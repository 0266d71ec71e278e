export interface ForeignFile {
  /** The name in messages: the path as given, or `<stdin>`. */
  readonly label: string;
  /** Absolute path; `null` for standard input. */
  readonly path: string | null;
  /** At most {@linkcode FOREIGN_BYTES_MAX}; empty for a database. */
  readonly bytes: Uint8Array;
}

/** A larger file is rejected. Parsers need about a second for one of this size. */
export const FOREIGN_BYTES_MAX = 8 * 1024 * 1024;
