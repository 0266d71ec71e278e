import type { FileFacts, Files } from "../domain/system.ts";
import type { RequiredPermissions } from "../domain/runtime_permissions.ts";

/** Thrown for a path that is no regular file, or is larger than expected; the message completes "cannot read …: ". */
export class UnreadableFileError extends Error {
  override readonly name = "UnreadableFileError";
}

export interface RegularFile extends Pick<FileFacts, "mode" | "ownerId"> {
  readonly bytes: Uint8Array;
}

/**
 * Reads a whole regular file. The target of a path is examined before it is opened, because opening a pipe without a
 * writer, or a file on a hung mount, would block the runtime's only thread.
 *
 * @param options.timeoutMs How long the file system may take to find the file. @default that of {@linkcode Files.stat}
 * @throws {UnreadableFileError} If it is no regular file, or larger than `bytesMax`.
 */
export async function readRegularFile(
  path: string,
  { files, bytesMax, timeoutMs }: {
    readonly files: Pick<Files, "stat" | "read">;
    readonly bytesMax: number;
    readonly timeoutMs?: number;
  },
): Promise<RegularFile> {
  const { kind, sizeBytes, mode, ownerId } = await files.stat(
    path,
    timeoutMs === undefined ? {} : { timeoutMs },
  );
  if (kind === "directory") throw new UnreadableFileError("it is a directory, not a file");
  if (kind !== "file") throw new UnreadableFileError("it is not a regular file");
  refuseTooLarge(sizeBytes, bytesMax);
  // The kernel makes the bytes of some files without a size, and may do so without end.
  const bytes = await (sizeBytes === 0 ? files.read(path, { bytesMax }) : files.read(path));
  refuseTooLarge(bytes.length, bytesMax);
  return { bytes, mode, ownerId };
}

/** Reads a whole regular file as UTF-8. */
export async function readText(...words: Parameters<typeof readRegularFile>): Promise<string> {
  return new TextDecoder().decode((await readRegularFile(...words)).bytes);
}

function refuseTooLarge(sizeBytes: number, bytesMax: number): void {
  if (sizeBytes <= bytesMax) return;
  throw new UnreadableFileError(`it has ${sizeBytes} bytes, expected at most ${bytesMax}`);
}

/** Returns the name of a file's new text until it replaces the file. */
export function temporaryPathOf(path: string): string {
  return `${path}.tmp`;
}

export function permissionsOfReplacing(path: string): RequiredPermissions {
  // The runtime treats a rename as reading the renamed file.
  return { read: [temporaryPathOf(path)], write: [path, temporaryPathOf(path)] };
}
