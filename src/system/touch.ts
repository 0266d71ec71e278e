import { constants, type FileHandle, open } from "node:fs/promises";

/**
 * Sets a file's modification time to now, and creates the file if it is missing.
 *
 * Opened without waiting, since opening a pipe without a reader would wait for ever.
 *
 * @throws {Error} If it fails; `code` is the system's, such as `ENOENT` (not for `Deno.errors.NotCapable`).
 */
export async function touchFile(path: string): Promise<void> {
  // Windows has no such flag.
  const withoutWaiting: number | undefined = constants.O_NONBLOCK;
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT | (withoutWaiting ?? 0), 0o666);
  try {
    await setTimes(file);
  } finally {
    await file.close();
  }
}

/** Only its owner may set a file's times, but any writer may truncate an empty file, which sets them too. */
async function setTimes(file: FileHandle): Promise<void> {
  const now = new Date();
  try {
    await file.utimes(now, now);
  } catch (error) {
    const facts = await file.stat();
    if (!facts.isFile() || facts.size > 0) throw error;
    await file.truncate(0);
  }
}
