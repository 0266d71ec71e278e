/** The files that the database keeps in addition to its own, by the end of the name. */
export const COMPANIONS: readonly string[] = ["-wal", "-shm", "-journal"];

/** The file at a path. A symlink is returned as such, not its target. */
export interface PathFacts {
  /** `other`: a device, a pipe, a socket. */
  readonly kind: "file" | "directory" | "symlink" | "other";
  /** 0 for an empty file. */
  readonly sizeBytes: number;
  /** The owner's user id; `null` on systems without one. */
  readonly ownerId: number | null;
}

/**
 * The files that a stored state needs in addition to the database itself. Errors are those of the runtime
 * (`Deno.errors.PermissionDenied`, `NotCapable` …).
 */
export interface StoreFiles {
  /**
   * Returns the file at a path; `null` if there is none. Rejects with `TimedOut` if the file system does not respond.
   */
  look(path: string): Promise<PathFacts | null>;
  /**
   * Returns the first bytes of a file. Never use it for a database that this process has open: closing a file
   * descriptor of it would drop the locks of the database (POSIX, fcntl).
   */
  readStart(path: string, bytes: number): Promise<Uint8Array>;
  /**
   * Makes an empty file that only its owner may read and write. Fails with `AlreadyExists` where anything is in
   * the way, a symlink that leads nowhere too.
   */
  createFile(path: string): Promise<void>;
  /** Makes a directory that only its owner may enter, with the directories above it; fine when it is there. */
  createDirectory(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
}
