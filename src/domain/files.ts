export interface FileFacts {
  /** The target of a symlink, never the symlink itself. `other`: a device, a pipe, a socket. */
  readonly kind: "file" | "directory" | "other";
  /** Length of a file; means nothing for the others. */
  readonly sizeBytes: number;
  /** Modification time, milliseconds since 1970; `null` if the system has none. */
  readonly modifiedAtMs: number | null;
  /** Permission bits; `null` on systems without them. */
  readonly mode: number | null;
  /** The owner's user id; `null` on systems without one. */
  readonly ownerId: number | null;
  /** The number of the device with its file system. @default unknown */
  readonly device?: number;
}

export interface FilePart {
  /** Its device and its inode: the file keeps it when it is renamed. */
  readonly id: string;
  readonly sizeBytes: number;
  readonly bytes: Uint8Array;
}

/**
 * Files. Errors are the runtime's own (`Deno.errors.NotFound`, `PermissionDenied`, `NotCapable` …). `stat`, `list`,
 * `realPath` and `readLink` reject with `Deno.errors.TimedOut` if the file system does not respond within two seconds.
 */
export interface Files {
  /** Returns the facts of the file at a path, following symlinks. `timeoutMs` replaces the two seconds. */
  stat(path: string, options?: { readonly timeoutMs?: number }): Promise<FileFacts>;
  /**
   * Reads a whole file; with `bytesMax`, at most one byte more than that. Opening anything but a regular file may block the
   * process for ever: see `readRegularFile`.
   */
  read(path: string, options?: { readonly bytesMax: number }): Promise<Uint8Array>;
  /**
   * Reads at most `bytesMax` of a regular file from a byte on, counted from its end if negative.
   *
   * @throws {UnreadableFileError} If it is no regular file.
   */
  readPart(path: string, range: { readonly fromByte: number; readonly bytesMax: number }): Promise<FilePart>;
  /** Returns the names in a directory, in no order. */
  list(directory: string): Promise<readonly string[]>;
  realPath(path: string): Promise<string>;
  /** Returns the text of a symlink. */
  readLink(path: string): Promise<string>;
  /** Sets the modification time to now, creating a missing file. Errors but `NotCapable` have the system's `code`. */
  touch(path: string): Promise<void>;
  /** Writes a new file; fails with `AlreadyExists` unless `overwrite`. */
  write(path: string, text: string, options: { readonly overwrite: boolean }): Promise<void>;
  /** Replaces a file atomically. Writes `PATH.tmp` first, with the permissions of a new file. */
  replace(path: string, text: string): Promise<void>;
  /**
   * Gives an existing file the text that `edit` makes of its bytes, as one step; an error of `edit` leaves it as it is. It
   * keeps owner, group, permissions and symlinks. Of processes that rewrite a file at once, only one finds its old text.
   */
  rewrite(path: string, edit: (stored: Uint8Array) => string): Promise<void>;
}
