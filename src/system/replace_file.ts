import { temporaryPathOf } from "../shared/temporary_path.ts";

/**
 * Puts a file in the place of what is at the path. The new text gets a name of its own first, beside the path, since a
 * rename is one step within one file system only. That name is fixed, so that a process that is killed leaves one
 * file and not one each time, and a permission for two paths is enough.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporaryPath = temporaryPathOf(path);
  // What a killed process left, or a link that somebody put there, is never written through.
  await removeIfThere(temporaryPath);
  try {
    await Deno.writeTextFile(temporaryPath, text, { createNew: true });
    await Deno.rename(temporaryPath, path);
  } catch (error) {
    // What went wrong first is what matters.
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
