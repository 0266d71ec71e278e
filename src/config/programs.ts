import type { PermissionClass } from "../domain/needs.ts";
import type { Files } from "../domain/files.ts";
import type { System } from "../domain/system.ts";
import type { FormattedValue } from "./formatted_value.ts";
import { type Problem, quote } from "./problem.ts";

/** What {@linkcode findPrograms} found. */
export interface FoundPrograms {
  /** Absolute paths by the name that the config uses. */
  readonly programs: ReadonlyMap<string, string>;
  /** One for each place in the config that names a program which is not there. */
  readonly problems: readonly Problem[];
}

/** What {@linkcode findPrograms} needs of the machine. */
export type ProgramSystem = Pick<System, "files" | "environment" | "mayReadEnvironment" | "platform">;

/** Looks up in `PATH` every program that the config names without a slash, each name once. */
export async function findPrograms(
  values: readonly FormattedValue[],
  folder: string,
  system: ProgramSystem,
): Promise<FoundPrograms> {
  const programs = new Map<string, string>();
  const missing = new Map<string, Refusal & { readonly isBeside: boolean }>();
  const problems: Problem[] = [];
  for (const { path, value, written } of values) {
    const name = String(value);
    if (!isLookedUp(name, system.platform) || programs.has(name)) continue;
    let lack = missing.get(name);
    if (lack === undefined) {
      const found = await lookUp(name, system);
      if ("program" in found) {
        programs.set(name, found.program);
        continue;
      }
      const isBeside = found.denied === null && await isProgram(`${folder}/${name}`, system.files);
      missing.set(name, lack = { ...found, isBeside });
    }
    problems.push({
      path,
      message: `the program ${quote(written)} ${lack.reason}`,
      isLack: true,
      ...(lack.denied !== null && { denied: lack.denied }),
      ...(lack.isBeside && { hint: `write ${quote(`./${written}`)} for the one beside the config` }),
    });
  }
  return { programs, problems };
}

function isLookedUp(name: string, platform: System["platform"]): boolean {
  return name !== "" && !name.includes("\0") && !name.includes("/") &&
    !(platform === "windows" && name.includes("\\"));
}

/** Why a program was not found. */
interface Refusal {
  /** What is said of it. */
  readonly reason: string;
  /** The class of permissions that kept it from being looked for; `null`: it is nowhere. */
  readonly denied: PermissionClass | null;
}

function denial(denied: PermissionClass, value: string): Refusal {
  return { reason: `cannot be looked up: grant --allow-${denied}=${value}`, denied };
}

const NOWHERE: Refusal = {
  reason: "is not in PATH, expected one that is, or a path with a slash",
  denied: null,
};

type Found = { readonly program: string } | Refusal;

async function lookUp(name: string, system: ProgramSystem): Promise<Found> {
  if (!system.mayReadEnvironment("PATH")) return denial("env", "PATH");
  const isWindows = system.platform === "windows";
  let refusal = NOWHERE;
  for (const folder of (system.environment("PATH") ?? "").split(isWindows ? ";" : ":")) {
    // An entry that is empty or relative means the working directory, which is no place to take programs from.
    if (!isAbsolute(folder, isWindows)) continue;
    for (const file of isWindows ? [name, `${name}.exe`] : [name]) {
      try {
        if (await isProgramThere(`${folder}/${file}`, system.files)) return { program: `${folder}/${file}` };
      } catch (error) {
        if (error instanceof Deno.errors.NotCapable && refusal === NOWHERE) {
          refusal = denial("read", `${folder}/${file}`);
        }
      }
    }
  }
  return refusal;
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
