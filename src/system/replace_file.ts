import { temporaryPathOf } from "../shared/temporary_path.ts";

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
  await removeIfThere(temporaryPath);
  try {
    await write(temporaryPath);
    await Deno.rename(temporaryPath, path);
  } catch (error) {
    // The first error is the relevant one.
    await removeIfThere(temporaryPath).catch(() => {});
    throw error;
  }
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
