/** What the database keeps beside its file, by the end of the name. */
export const COMPANIONS: readonly string[] = ["-wal", "-shm", "-journal"];

/**
 * What stands at a path. A symlink is told as such, not as what it leads to.
 */
export interface PathFacts {
  /** What it is; `other`: a device, a pipe, a socket. */
  readonly kind: "file" | "directory" | "symlink" | "other";
  /** 0 for an empty file. */
  readonly sizeBytes: number;
  /** The owner's user id; `null` on systems without one. */
  readonly ownerId: number | null;
}

/**
 * What a store that keeps its state in a file needs of the machine beside the database itself. Errors are the
 * runtime's own (`Deno.errors.PermissionDenied`, `NotCapable` …).
 */
export interface StoreFiles {
  /** What stands at a path; `null` when nothing does. Rejects with `TimedOut` if the file system does not respond. */
  look(path: string): Promise<PathFacts | null>;
  /**
   * The first bytes of a file: `bytes` of them, or fewer where it is shorter. Never of a database that this process
   * has open: to close any descriptor of it would drop the locks of the database (POSIX, fcntl).
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
