import type { ConfigDraft } from "./config_draft.ts";
import type { ForeignFile } from "./foreign_text.ts";
import type { IncludedFiles } from "./included_files.ts";

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
