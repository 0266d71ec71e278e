import type { Clock } from "../domain/clock.ts";
import type { Files } from "../domain/files.ts";
import { inTime } from "./in_time.ts";
import { replaceFile, rewriteFile } from "./replace_file.ts";
import { touchFile } from "./touch.ts";

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
