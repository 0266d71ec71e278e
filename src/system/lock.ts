import { describeFileError, systemCodeOf } from "../shared/describe_error.ts";
import { dirname } from "node:path";
import { StoreError, type StoreFailure } from "../domain/store.ts";
import type { Lock } from "../domain/stores.ts";

/**
 * Acquires the lock of the process that runs the checks, or returns `null` while another process has it; {@linkcode
 * lockHolder} may then return its id. The lock is the system's own on an open file, so it cannot be left behind by a
 * crash, and commands that this process starts do not inherit it.
 *
 * The file (mode 0600, its directory 0700 if it is new) stays when the lock ends: removing it would allow two
 * processes to lock two files of the same name.
 *
 * @throws {StoreError} If the file cannot be created or opened, or the path is not a file.
 */
export function acquireLock(path: string): Lock | null {
  try {
    return tryToAcquire(path);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    // The runtime wants everything granted for /proc, /sys and /dev, which is too much for a state.
    if (error instanceof Deno.errors.NotCapable && error.message.includes("--allow-all")) {
      throw new StoreError(
        `cannot lock "${path}": /proc, /sys and /dev are not for files; set --state to another path`,
        "other",
      );
    }
    const reason = error instanceof Deno.errors.NotCapable
      ? `missing permission: ${error.message}`
      : describeFileError(error, { path, access: "write" });
    throw new StoreError(`cannot lock "${path}": ${reason}`, failureOf(error), { cause: error });
  }
}

/** The id of the process that last took the lock; `null` if the file doesn't have it. */
export function lockHolder(path: string): number | null {
  try {
    const text = Deno.readTextFileSync(path).trim();
    return /^[1-9]\d{0,9}$/.test(text) ? Number(text) : null;
  } catch {
    return null; // another user's file, or a system on which a locked file is unreadable for others
  }
}

/** Returns whether a process has the lock. Acquires it for a moment: one that acquires it then waits. */
export function isLocked(path: string): boolean {
  try {
    // A pipe would not open before another process writes to it.
    if (!Deno.lstatSync(path).isFile) return false;
    using file = Deno.openSync(path, { read: true });
    if (!file.tryLockSync(false)) return true;
    file.unlockSync();
    return false;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return false;
  }
}

/** The number of times that the file may vanish between two calls before that is an error. */
const ATTEMPTS = 5;

function tryToAcquire(path: string): Lock | null {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const file = openLockFile(path);
    if (file === null) continue;
    let isKept = false;
    try {
      if (!tryToLock(file)) return null;
      if (!isSameFile(file.statSync(), lookAt(path))) continue;
      signWithProcessId(file);
      isKept = true;
    } finally {
      if (!isKept) file.close();
    }
    return createLock(file, path);
  }
  throw new StoreError(`cannot lock "${path}": the file is replaced repeatedly`, "other");
}

/** A process that only checks ({@linkcode isLocked}) is gone after a moment, and is no other monitor. */
function tryToLock(file: Deno.FsFile): boolean {
  for (let triesLeft = LOOKS_MAX;; triesLeft--) {
    if (file.tryLockSync(true)) return true;
    if (triesLeft === 0) return false;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
  }
}

const LOOKS_MAX = 3;
const LOOK_MS = 5;

function createLock(file: Deno.FsFile, path: string): Lock {
  const locked = file.statSync();
  let isHeld = true;
  return {
    isInPlace: async () => {
      try {
        return isSameFile(locked, await Deno.lstat(path));
      } catch (error) {
        return !(error instanceof Deno.errors.NotFound);
      }
    },
    release: () => {
      if (!isHeld) return;
      isHeld = false;
      // Closing alone would not suffice while a command is being started: until it runs, it has the file open too.
      file.unlockSync();
      file.close();
    },
  };
}

/** `null` when the file came or went meanwhile. A symlink is never followed, so that nothing else is written to. */
function openLockFile(path: string): Deno.FsFile | null {
  const before = lookAt(path);
  if (before === null) return createLockFile(path);
  if (!before.isFile) {
    throw new StoreError(`cannot lock "${path}": it is ${nameKind(before)}, not a file`, "denied");
  }
  // Another name of a user's file would have it emptied; a file that is made for locking has one name.
  if ((before.nlink ?? 1) > 1) {
    throw new StoreError(`cannot lock "${path}": it is a hard link`, "denied");
  }
  const file = unlessMissing(() => Deno.openSync(path, { read: true, write: true }));
  if (file === null || isSameFile(file.statSync(), before)) return file;
  file.close();
  return null;
}

function createLockFile(path: string): Deno.FsFile | null {
  const options: Deno.OpenOptions = { read: true, write: true, createNew: true, mode: 0o600 };
  try {
    return Deno.openSync(path, options);
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return null;
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return null;
}

function lookAt(path: string): Deno.FileInfo | null {
  return unlessMissing(() => Deno.lstatSync(path));
}

function unlessMissing<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

function isSameFile(one: Deno.FileInfo, other: Deno.FileInfo | null): boolean {
  return other !== null && one.dev === other.dev && one.ino === other.ino;
}

/** The lock is valid without it (for example, on a full disk): it only helps to name the owner. */
function signWithProcessId(file: Deno.FsFile): void {
  try {
    file.truncateSync(0);
    file.writeSync(new TextEncoder().encode(`${Deno.pid}\n`));
  } catch {
    // The owner is unknown then.
  }
}

function nameKind(info: Deno.FileInfo): string {
  if (info.isSymlink) return "a symlink";
  return info.isDirectory ? "a directory" : "a device or a pipe";
}

function failureOf(error: unknown): StoreFailure {
  if (error instanceof Deno.errors.NotCapable) return "denied";
  const code = systemCodeOf(error);
  if (code === "ENOSPC" || code === "EDQUOT") return "full";
  return code === "EACCES" || code === "EROFS" ? "denied" : "other";
}
