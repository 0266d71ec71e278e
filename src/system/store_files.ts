import type { Clock } from "../domain/clock.ts";
import type { StoreFiles } from "../domain/store_files.ts";
import { inTime } from "./in_time.ts";

/** The machine's files, as a store that keeps its state in one needs them. */
export function createStoreFiles(clock: Clock): StoreFiles {
  return {
    look: async (path) => {
      try {
        const info = await inTime(Deno.lstat(path), clock);
        return { kind: kindOf(info), sizeBytes: info.size, ownerId: info.uid };
      } catch (error) {
        if (error instanceof Deno.errors.NotFound) return null;
        throw error;
      }
    },
    readStart: async (path, bytes) => {
      using file = await Deno.open(path);
      const buffer = new Uint8Array(bytes);
      let filled = 0;
      while (filled < bytes) {
        const count = await file.read(buffer.subarray(filled));
        if (count === null) break;
        filled += count;
      }
      return buffer.subarray(0, filled);
    },
    createFile: async (path) => {
      const file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
      file.close();
    },
    createDirectory: (path) => Deno.mkdir(path, { recursive: true, mode: 0o700 }),
    rename: (from, to) => Deno.rename(from, to),
  };
}

function kindOf(info: Deno.FileInfo): "file" | "directory" | "symlink" | "other" {
  if (info.isSymlink) return "symlink";
  if (info.isFile) return "file";
  return info.isDirectory ? "directory" : "other";
}
