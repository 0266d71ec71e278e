import { findProgram, type FoundProgram, isProgram } from "../shared/find_program.ts";
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

/** Looks up in `PATH` every program that the config names without a slash, each name once. */
export async function findPrograms(
  values: readonly FormattedValue[],
  directory: string,
  system: ProgramSystem,
): Promise<FoundPrograms> {
  const programs = new Map<string, string>();
  const missing = new Map<string, Pick<FoundProgram, "denied"> & { readonly isBeside: boolean }>();
  const problems: Problem[] = [];
  for (const { path, value, written } of values) {
    const name = String(value);
    if (!isLookedUp(name, system.platform) || programs.has(name)) continue;
    let lack = missing.get(name);
    if (lack === undefined) {
      const { path: program, denied } = await lookUp(name, system);
      if (program !== null) {
        programs.set(name, program);
        continue;
      }
      const isBeside = denied === null &&
        await isProgram(`${directory}/${name}`, system.files).catch(() => false);
      missing.set(name, lack = { denied, isBeside });
    }
    problems.push({
      path,
      message: `the command ${quote(written)} ${
        lack.denied === null
          ? "is not in PATH, expected its full path or one in PATH"
          : `cannot be looked up: grant --allow-${lack.denied.permission}=${lack.denied.value}`
      }`,
      isLack: true,
      ...(lack.denied !== null && { denied: lack.denied.permission }),
      ...(lack.isBeside &&
        { hint: `write ${quote(`./${written}`)} for the one in the directory of the config` }),
    });
  }
  return { programs, problems };
}

function isLookedUp(name: string, platform: System["platform"]): boolean {
  return name !== "" && !name.includes("\0") && !name.includes("/") &&
    !(platform === "windows" && name.includes("\\"));
}

type ProgramSystem = Pick<System, "files" | "environment" | "mayReadEnvironment" | "platform">;

async function lookUp(name: string, system: ProgramSystem): Promise<FoundProgram> {
  const denied = { permission: "env", value: "PATH" } as const;
  return system.mayReadEnvironment("PATH") ? await findProgram(name, system) : { path: null, denied };
}
