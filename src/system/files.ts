import { constants, type FileHandle, open } from "node:fs/promises";
import type { Clock } from "../domain/clock.ts";
import type { Files } from "../domain/files.ts";
import { inTime } from "./in_time.ts";
import { replaceFile, rewriteFile } from "./replace_file.ts";

export function createFiles(clock: Clock): Files {
  return {
    stat: async (path, { timeoutMs } = {}) => {
      const info = await inTime(Deno.stat(path), clock, timeoutMs);
      return {
        kind: info.isFile ? "file" : info.isDirectory ? "directory" : "other",
        sizeBytes: info.size,
        modifiedAtMs: info.mtime?.getTime() ?? null,
        mode: info.mode,
        ownerId: info.uid,
      };
    },
    read: (path) => Deno.readFile(path),
    list: (directory) => inTime(namesIn(directory), clock),
    realPath: (path) => inTime(Deno.realPath(path), clock),
    readLink: (path) => inTime(Deno.readLink(path), clock),
    touch: touchFile,
    write: (path, text, { overwrite }) => Deno.writeTextFile(path, text, { createNew: !overwrite }),
    replace: replaceFile,
    rewrite: rewriteFile,
  };
}

async function namesIn(directory: string): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(directory)) names.push(name);
  return names;
}

/**
 * Sets a file's modification time to now, and creates the file if it is missing.
 *
 * Opened without waiting, since opening a pipe without a reader would wait for ever.
 *
 * @throws {Error} If it fails; `code` is the system's, such as `ENOENT` (not for `Deno.errors.NotCapable`).
 */
async function touchFile(path: string): Promise<void> {
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
