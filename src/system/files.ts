import type { Files } from "../domain/system.ts";
import { replaceFile } from "./replace_file.ts";
import { touchFile } from "./touch.ts";

/** The machine's files. */
export function createFiles(): Files {
  return {
    stat: async (path) => {
      const info = await Deno.stat(path);
      return {
        kind: info.isFile ? "file" : info.isDirectory ? "folder" : "other",
        sizeBytes: info.size,
        modifiedAtMs: info.mtime?.getTime() ?? null,
        mode: info.mode,
        ownerId: info.uid,
      };
    },
    read: (path) => Deno.readFile(path),
    list: async (folder) => {
      const names: string[] = [];
      for await (const { name } of Deno.readDir(folder)) names.push(name);
      return names;
    },
    realPath: (path) => Deno.realPath(path),
    touch: touchFile,
    write: (path, text, { overwrite }) => Deno.writeTextFile(path, text, { createNew: !overwrite }),
    replace: replaceFile,
  };
}
