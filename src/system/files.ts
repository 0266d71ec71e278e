import { constants, type FileHandle, open } from "node:fs/promises";
import type { Clock } from "../domain/clock.ts";
import type { FilePart, Files } from "../domain/system.ts";
import { joinBytes } from "../shared/text.ts";
import { temporaryPathOf, UnreadableFileError } from "../shared/regular_file.ts";
import type { StoreFiles } from "../domain/stores.ts";
import { withStallSafeTimeout } from "../shared/deadline.ts";

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
        device: info.dev,
      };
    },
    read: (path, options) =>
      options === undefined ? Deno.readFile(path) : readBeginning(path, options.bytesMax),
    readPart: (path, range) => inTime(readPart(path, range), clock, READ_MS_MAX),
    list: (directory) => inTime(Array.fromAsync(Deno.readDir(directory), ({ name }) => name), clock),
    realPath: (path) => inTime(Deno.realPath(path), clock),
    readLink: (path) => inTime(Deno.readLink(path), clock),
    touch: touchFile,
    write: (path, text, { overwrite }) => Deno.writeTextFile(path, text, { createNew: !overwrite }),
    replace: replaceFile,
    rewrite: rewriteFile,
  };
}

async function readBeginning(path: string, bytesMax: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let left = bytesMax + 1;
  // It is closed at the end of the loop.
  for await (const part of (await Deno.open(path)).readable) {
    parts.push(part.subarray(0, left));
    left -= part.length;
    if (left <= 0) break;
  }
  return joinBytes(parts);
}

const READ_MS_MAX = 10_000;

async function readPart(
  path: string,
  { fromByte, bytesMax }: { readonly fromByte: number; readonly bytesMax: number },
): Promise<FilePart> {
  // Opening a pipe without a writer would wait for ever.
  if (!(await Deno.stat(path)).isFile) throw new UnreadableFileError("it is not a regular file");
  using file = await Deno.open(path);
  const { size, dev, ino } = await file.stat();
  if (size === 0 && /^\/(?:proc|sys)\//.test(await Deno.realPath(path))) {
    throw new UnreadableFileError("the kernel generates its contents, and it has no size");
  }
  const start = Math.min(size, fromByte < 0 ? Math.max(0, size + fromByte) : fromByte);
  await file.seek(start, Deno.SeekMode.Start);
  const bytes = await readUpTo(file, Math.min(bytesMax, size - start));
  return { id: `${dev}:${ino}`, sizeBytes: size, bytes };
}

/** Reads so many bytes, or fewer at the end of a file. */
async function readUpTo(file: Deno.FsFile, bytesMax: number): Promise<Uint8Array> {
  const buffer = new Uint8Array(bytesMax);
  let filled = 0;
  while (filled < bytesMax) {
    const count = await file.read(buffer.subarray(filled));
    if (count === null) break;
    filled += count;
  }
  return buffer.subarray(0, filled);
}

/** Creates a missing file. Opened without waiting, since opening a pipe without a reader would wait for ever. */
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

/**
 * Replaces the file at a path. The new text is written to a temporary name in the same directory first, since a
 * rename is atomic within one file system only. That name is fixed, so that killed processes leave one file in all,
 * and a permission for two paths is enough.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  await putInPlace(path, (temporaryPath) => Deno.writeTextFile(temporaryPath, text, { createNew: true }));
}

/**
 * Replaces an existing file, with its owner, group and permissions; it is on disk when it replaces the old one. The
 * file is locked from reading until then.
 */
export async function rewriteFile(path: string, edit: (stored: Uint8Array) => string): Promise<void> {
  const target = await Deno.realPath(path);
  using _locked = await openLocked(target);
  const { mode, uid, gid } = await Deno.stat(target);
  const text = edit(await Deno.readFile(target));
  await putInPlace(target, async (temporaryPath) => {
    // Until its owner is right, it is for this user alone.
    using file = await Deno.open(temporaryPath, { write: true, createNew: true, mode: 0o600 });
    const own = await file.stat();
    if (uid !== null && gid !== null && (own.uid !== uid || own.gid !== gid)) {
      await Deno.chown(temporaryPath, uid, gid);
    }
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
    // Last, since writing clears the set-user-id bit.
    if (mode !== null) await Deno.chmod(temporaryPath, mode & 0o7777);
    await file.sync();
  });
}

/** Opens a file and locks it; again if another process has replaced it meanwhile. */
async function openLocked(path: string): Promise<Deno.FsFile> {
  for (;;) {
    const file = await Deno.open(path);
    try {
      await file.lock(true);
      const [own, present] = [await file.stat(), await Deno.stat(path)];
      if (own.ino === present.ino && own.dev === present.dev) return file;
    } catch (error) {
      file.close();
      throw error;
    }
    file.close();
  }
}

async function putInPlace(path: string, write: (temporaryPath: string) => Promise<void>): Promise<void> {
  const temporaryPath = temporaryPathOf(path);
  // The file of a killed process, or another user's link, is never written through.
  await unlessMissing(Deno.remove(temporaryPath));
  try {
    await write(temporaryPath);
    await Deno.rename(temporaryPath, path);
  } catch (error) {
    // The first error is the relevant one.
    await Deno.remove(temporaryPath).catch(() => {});
    throw error;
  }
}

async function unlessMissing<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/** The machine's files, as a store that keeps its state in one needs them. */
export function createStoreFiles(clock: Clock): StoreFiles {
  return {
    look: async (path) => {
      const info = await unlessMissing(inTime(Deno.lstat(path), clock));
      return info && { kind: kindOf(info), sizeBytes: info.size, ownerId: info.uid };
    },
    readStart: async (path, bytes) => {
      using file = await Deno.open(path);
      return await readUpTo(file, bytes);
    },
    createFile: async (path) =>
      (await Deno.open(path, { write: true, createNew: true, mode: 0o600 })).close(),
    createDirectory: (path) => Deno.mkdir(path, { recursive: true, mode: 0o700 }),
    rename: (from, to) => Deno.rename(from, to),
  };
}

function kindOf(info: Deno.FileInfo): "file" | "directory" | "symlink" | "other" {
  if (info.isSymlink) return "symlink";
  if (info.isFile) return "file";
  return info.isDirectory ? "directory" : "other";
}

const RESPONSE_MS_MAX = 2_000;

/** Waits for a file system; a call that hangs is abandoned. Throws `Deno.errors.TimedOut` if it doesn't respond in time. */
export function inTime<T>(response: Promise<T>, clock: Clock, timeoutMs = RESPONSE_MS_MAX): Promise<T> {
  const late = (): Error =>
    new Deno.errors.TimedOut(`the file system did not respond within ${timeoutMs / 1000} s`);
  return withStallSafeTimeout(response, { clock, timeoutMs, late });
}
