import { missingPermission } from "../domain/needs.ts";
import type { Files, System } from "../domain/system.ts";
import type { FormattedValue } from "./formats.ts";
import { type Problem, quote } from "./problem.ts";

/** What {@linkcode findPrograms} found. */
export interface FoundPrograms {
  /** Absolute paths by the name that the document uses. */
  readonly programs: ReadonlyMap<string, string>;
  /** One for each place in the document that names a program which is not there. */
  readonly problems: readonly Problem[];
}

/** What {@linkcode findPrograms} needs of the machine. */
export type ProgramSystem = Pick<System, "files" | "environment" | "mayReadEnvironment" | "platform">;

/**
 * Looks up in `PATH` every program that the document names without a slash, each name once.
 *
 * @throws {Deno.errors.NotCapable} If `PATH`, or a folder in it, may not be read and the program is nowhere else.
 */
export async function findPrograms(
  values: readonly FormattedValue[],
  folder: string,
  system: ProgramSystem,
): Promise<FoundPrograms> {
  const programs = new Map<string, string>();
  const missing = new Map<string, { readonly isBeside: boolean }>();
  const problems: Problem[] = [];
  for (const { path, value, written } of values) {
    const name = String(value);
    if (!isLookedUp(name, system.platform) || programs.has(name)) continue;
    let found = missing.get(name);
    if (found === undefined) {
      // So many cannot all be slips of the pen, and each takes a look into every folder of PATH.
      if (missing.size === MISSING_MAX) return { programs, problems };
      const program = await lookUp(name, system);
      if (program !== undefined) {
        programs.set(name, program);
        continue;
      }
      missing.set(name, found = { isBeside: await isProgram(`${folder}/${name}`, system.files) });
    }
    problems.push({
      path,
      message: `the program ${quote(written)} is not in PATH, expected one that is, or a path with a slash`,
      ...(found.isBeside && { hint: `write ${quote(`./${written}`)} for the one beside the document` }),
    });
  }
  return { programs, problems };
}

/** After so many programs that are not there the rest is not looked up. */
const MISSING_MAX = 100;

function isLookedUp(name: string, platform: System["platform"]): boolean {
  return name !== "" && !name.includes("\0") && !name.includes("/") &&
    !(platform === "windows" && name.includes("\\"));
}

async function lookUp(name: string, system: ProgramSystem): Promise<string | undefined> {
  if (!system.mayReadEnvironment("PATH")) {
    throw missingPermission("env", "PATH");
  }
  const isWindows = system.platform === "windows";
  let denied: Error | undefined;
  for (const folder of (system.environment("PATH") ?? "").split(isWindows ? ";" : ":")) {
    // An entry that is empty or relative means the working directory, which is no place to take programs from.
    if (!isAbsolute(folder, isWindows)) continue;
    for (const file of isWindows ? [name, `${name}.exe`] : [name]) {
      try {
        if (await isProgramThere(`${folder}/${file}`, system.files)) return `${folder}/${file}`;
      } catch (error) {
        if (error instanceof Deno.errors.NotCapable) denied ??= error;
      }
    }
  }
  if (denied !== undefined) throw denied;
  return undefined;
}

function isAbsolute(folder: string, isWindows: boolean): boolean {
  return isWindows ? /^([A-Za-z]:)?[\\/]/.test(folder) : folder.startsWith("/");
}

async function isProgram(path: string, files: Files): Promise<boolean> {
  try {
    return await isProgramThere(path, files);
  } catch {
    return false;
  }
}

async function isProgramThere(path: string, files: Files): Promise<boolean> {
  const facts = await files.stat(path);
  return facts.kind === "file" && (facts.mode === null || (facts.mode & 0o111) !== 0);
}
