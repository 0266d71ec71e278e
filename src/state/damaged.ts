import { COMPANIONS, type StoreFiles } from "../domain/store_files.ts";

/** When and by what means a file is set aside. */
export interface SetAsideOptions {
  /** The machine's files. */
  readonly files: StoreFiles;
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * Gives a damaged state, with what the database keeps beside it, a name that tells when that was, and answers the
 * name. Nothing is deleted and nothing is replaced. Nobody may have it open.
 */
export async function setAside(path: string, { files, nowMs }: SetAsideOptions): Promise<string> {
  const newPath = await findFreeName(`${path}.damaged-${stamp(nowMs)}`, files);
  // The file goes last: were it gone first, the database would take what is left for leftovers and delete them.
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
