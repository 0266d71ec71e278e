import type { StoreFiles } from "./store_files.ts";

/** A lock that this process has. It ends with the process, however that ends. */
export interface Lock {
  /**
   * Whether its file is still the one at its path. Once it was removed or replaced, another process can lock another
   * file there. If that can't be told, because the file system returns an error, it is taken to be in place.
   */
  isInPlace(): Promise<boolean>;
  /** Ends it; fine when that was done before. */
  release(): void;
}

/** What kept state needs of the machine. */
export interface StateAccess {
  /** What a store does with files beside the database itself. */
  readonly files: StoreFiles;
  /** Takes the lock at a path until it is released or the process dies; `null` while another process has it. */
  lock(path: string): Lock | null;
  /** The id of the process that last took it; `null` where that is not known. */
  holder(path: string): number | null;
  /** Whether a process has it now. */
  isLocked(path: string): boolean;
}
