import { findMatches } from "../config/glob.ts";
import { absolutePath } from "../config/source.ts";
import type { Files } from "../domain/files.ts";
import { describeFileError } from "../shared/describe_error.ts";
import { readRegularFile } from "../shared/regular_file.ts";
import { dirname, normalize } from "node:path";
import { FOREIGN_BYTES_MAX, type ForeignFile } from "./foreign_text.ts";

/** More files are rejected: a link that leads back up makes files without end. */
const FILES_MAX = 10_000;
const DEPTH_MAX = 32;

/**
 * Reads the files that the config of another tool includes: each once, together at most as large as a config may be.
 * A relative path starts at the directory of the file that names it.
 */
export class IncludedFiles {
  readonly #files: Files;
  readonly #seen = new Set<string>();
  #bytesLeft: number;

  constructor(main: ForeignFile, files: Files) {
    this.#files = files;
    this.#bytesLeft = FOREIGN_BYTES_MAX - main.bytes.length;
    if (main.path !== null) this.#seen.add(main.path);
  }

  /** Returns the files that a path or pattern matches and that were not read before, or why they can't be read. */
  async matching(pattern: string, from: ForeignFile): Promise<readonly ForeignFile[] | string> {
    if (from.path === null) return "stdin has no directory: name the file";
    try {
      const directory = dirname(from.path);
      const { paths } = await findMatches(pattern, directory, this.#files);
      if (paths.length === 0) return "no such file";
      return await this.#readAll(paths.map((path) => normalize(absolutePath(path, directory))));
    } catch (error) {
      return reasonOf(error, pattern);
    }
  }

  /** Returns the files with an ending in a directory and the directories in it. */
  async below(
    directory: string,
    ending: string,
    from: ForeignFile,
  ): Promise<readonly ForeignFile[] | string> {
    if (from.path === null) return "stdin has no directory: name the file";
    const top = normalize(absolutePath(directory, dirname(from.path))).replace(/(?<=.)\/+$/, "");
    try {
      return await this.#readAll(await this.#list(top, ending, 0));
    } catch (error) {
      return reasonOf(error, top);
    }
  }

  async #list(directory: string, ending: string, depth: number): Promise<readonly string[]> {
    if (depth > DEPTH_MAX) {
      throw new RangeError(`its directories are nested more than ${DEPTH_MAX} levels deep`);
    }
    const found: string[] = [];
    for (const name of [...await this.#files.list(directory)].sort()) {
      const path = `${directory}/${name}`;
      if (name.endsWith(ending)) found.push(path);
      else if (!name.startsWith(".") && (await this.#files.stat(path)).kind === "directory") {
        for (const inner of await this.#list(path, ending, depth + 1)) found.push(inner);
      }
    }
    return found;
  }

  async #readAll(paths: readonly string[]): Promise<readonly ForeignFile[]> {
    const read: ForeignFile[] = [];
    for (const path of paths) {
      if (this.#seen.has(path)) continue;
      this.#seen.add(path);
      if (this.#seen.size > FILES_MAX) throw new RangeError(`more than ${FILES_MAX} files are included`);
      const { bytes } = await readRegularFile(path, { files: this.#files, bytesMax: this.#bytesLeft });
      this.#bytesLeft -= bytes.length;
      read.push({ label: path, path, bytes });
    }
    return read;
  }
}

function reasonOf(error: unknown, path: string): string {
  if (error instanceof Deno.errors.NotCapable) throw error;
  return error instanceof RangeError ? error.message : describeFileError(error, { path });
}
