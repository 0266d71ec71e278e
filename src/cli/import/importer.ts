import type { ConfigDraft } from "./config_draft.ts";
import type { IncludedFiles } from "./included_files.ts";

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

export interface Importer {
  /** The file that is expected, for messages: "a config of Gatus in YAML". */
  readonly expects: string;
  /** Returns whether a file is a database, which is not read whole but opened by `translate`. */
  isDatabase?(path: string): boolean;
  /**
   * Puts every check and channel of the file, and of those that it includes, into the draft, and lists the rest there.
   *
   * @throws {ConfigError} If the file is malformed.
   */
  translate(file: ForeignFile, draft: ConfigDraft, included: IncludedFiles): void | Promise<void>;
}
