import { COMPANIONS, type StoreFiles } from "../domain/store_files.ts";

interface QuarantineOptions {
  readonly files: StoreFiles;
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * Renames a damaged state and its companion files, and returns the new name, which has the time. Nothing is deleted or
 * replaced. No process may have it open.
 */
export async function quarantine(path: string, { files, nowMs }: QuarantineOptions): Promise<string> {
  const newPath = await findFreeName(`${path}.damaged-${stamp(nowMs)}`, files);
  // The file is moved last: otherwise the database would treat the remaining files as leftovers and delete them.
  for (const companion of [...COMPANIONS, ""]) {
    if (await files.look(path + companion) !== null) {
      await files.rename(path + companion, newPath + companion);
    }
  }
  return newPath;
}

async function findFreeName(wanted: string, files: StoreFiles): Promise<string> {
  for (let count = 1;; count++) {
    const candidate = count === 1 ? wanted : `${wanted}-${count}`;
    if (await isFree(candidate, files)) return candidate;
  }
}

async function isFree(path: string, files: StoreFiles): Promise<boolean> {
  for (const companion of [...COMPANIONS, ""]) {
    if (await files.look(path + companion) !== null) return false;
  }
  return true;
}

/** Such as `20260131T100000Z`. */
function stamp(nowMs: number): string {
  return new Date(nowMs).toISOString().replace(/\.\d+/, "").replaceAll(/[-:]/g, "");
}
