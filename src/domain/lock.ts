import type { StoreFiles } from "./store_files.ts";

/** A lock that this process has. It ends with the process, however that ends. */
export interface Lock {
  /**
   * Returns whether its file is still the one at its path. If the file was removed or replaced, another process can
   * lock the new one. If the file system returns an error, it is taken to be in place.
   */
  isInPlace(): Promise<boolean>;
  /** Releases it; no error if it was released before. */
  release(): void;
}

export interface StateAccess {
  /** Operations on files other than the database itself. */
  readonly files: StoreFiles;
  /** Acquires the lock at a path until it is released or the process dies; `null` while another process has it. */
  lock(path: string): Lock | null;
  /** The id of the process that last acquired it; `null` if unknown. */
  holder(path: string): number | null;
  isLocked(path: string): boolean;
}
