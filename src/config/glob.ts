import type { Files } from "../domain/system.ts";
import { matchesGlob } from "../shared/matches_glob.ts";
import { absolutePath } from "./source.ts";

interface GlobMatches {
  /** As the pattern is: relative or absolute; sorted by their characters. Directories, pipes and devices are left out. */
  readonly paths: readonly string[];
  /** The searched directories, including missing ones; absolute. */
  readonly directories: readonly string[];
}

/** Returns whether a path is a pattern: `*` matches any characters of one name, `?` one of them. */
export function isGlob(path: string): boolean {
  return /[*?]/.test(path);
}

/**
 * Finds the files that a pattern matches. A directory that does not exist matches nothing, and only a dot matches a
 * leading dot, as in shells. Only links to directories are followed.
 *
 * @throws An error of the runtime if a directory can't be listed.
 */
export async function findMatches(pattern: string, directory: string, files: Files): Promise<GlobMatches> {
  const [first = "", ...rest] = pattern.split("/");
  const segments = first === "" ? rest : [first, ...rest];
  const directories = new Set<string>();
  let paths: readonly string[] = [first === "" ? "/" : ""];
  for (const segment of segments) {
    if (segment === "") continue;
    if (!isGlob(segment)) {
      paths = paths.map((path) => join(path, segment));
      continue;
    }
    const found: string[] = [];
    for (const path of paths) {
      const place = path === "" ? directory : absolutePath(path, directory);
      directories.add(place);
      if (directories.size > DIRECTORIES_MAX) {
        throw new RangeError(`it leads through more than ${DIRECTORIES_MAX} directories`);
      }
      const names = await namesIn(place, files);
      if (names === null) continue;
      for (const name of names) if (matchesGlob(name, segment)) found.push(join(path, name));
    }
    paths = found;
  }
  const kept: string[] = [];
  for (const path of paths) if (await isThere(absolutePath(path, directory), files)) kept.push(path);
  return { paths: kept.sort((one, other) => one < other ? -1 : 1), directories: [...directories] };
}

/** Links that lead back up make directories without end. */
const DIRECTORIES_MAX = 10_000;

function join(path: string, name: string): string {
  return path === "" || path.endsWith("/") ? path + name : `${path}/${name}`;
}

async function namesIn(directory: string, files: Files): Promise<readonly string[] | null> {
  try {
    return await files.list(directory);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return null;
    throw error;
  }
}

/** Returns whether there is something to read. A broken link counts, so that reading it returns the error. */
async function isThere(path: string, files: Files): Promise<boolean> {
  try {
    return (await files.stat(path)).kind === "file";
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    if (error instanceof Deno.errors.NotADirectory) return false;
    return !(error instanceof Deno.errors.NotFound) || await isNamed(path, files);
  }
}

async function isNamed(path: string, files: Files): Promise<boolean> {
  const end = path.lastIndexOf("/");
  const names = await namesIn(path.slice(0, end) || "/", files).catch(() => null);
  return names?.includes(path.slice(end + 1)) ?? false;
}
