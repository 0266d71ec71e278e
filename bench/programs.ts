import { bundle } from "../scripts/bundle.ts";
import { bundleProgram, compileModule, compileProgram, GENERAL_PERMISSIONS } from "../scripts/compile.ts";

/** The measured programs: the monitor, the bare program that it is compared with, and one that does nothing. */
export type ProgramName = "monitor" | "bare" | "empty";

/** The programs, all in one form. */
export interface Programs {
  /** Such as `executable`. */
  readonly form: string;
  /** The start of a command line. */
  readonly commands: Readonly<Record<ProgramName, readonly string[]>>;
}

/** The same programs in both forms. */
export interface AllPrograms {
  /** As bundled modules that Deno runs. */
  readonly modules: Programs;
  /** As executables on one base; `null` where none can be made. */
  readonly executables: Programs | null;
  /** The form that users run, if it can be built. */
  readonly best: Programs;
}

/** A program that does nothing. */
const EMPTY_PROGRAM = "export {};\n";

/** Runs a module with the permissions that the executable has. */
const RUN = [
  Deno.execPath(),
  "run",
  "--quiet",
  "--no-config",
  "--no-lock",
  "--no-check",
  "--no-prompt",
  ...GENERAL_PERMISSIONS,
];

/** Bundles and, if possible, compiles the programs. They are in the directory, and deleted with it. */
export async function makePrograms(directory: string): Promise<AllPrograms> {
  const paths: Record<ProgramName, string> = {
    monitor: await bundleProgram(),
    bare: (await bundle(`${directory}/bare_bundle`, "bench/bare_program.ts")).main,
    empty: `${directory}/empty.js`,
  };
  await Deno.writeTextFile(paths.empty, EMPTY_PROGRAM);
  const modules = {
    form: "bundle run by Deno",
    commands: {
      monitor: [...RUN, paths.monitor],
      bare: [...RUN, paths.bare],
      empty: [...RUN, paths.empty],
    },
  };
  const executables = await compileAll(paths, directory);
  return { modules, executables, best: executables ?? modules };
}

async function compileAll(
  paths: Readonly<Record<ProgramName, string>>,
  directory: string,
): Promise<Programs | null> {
  const commands = {
    monitor: [`${directory}/monitor`],
    bare: [`${directory}/bare`],
    empty: [`${directory}/empty`],
  };
  try {
    await compileProgram(paths.monitor, `${directory}/monitor`);
    // The bare runtime is as it comes.
    for (const name of ["bare", "empty"] as const) {
      await compileModule(paths[name], `${directory}/${name}`, { engineFlags: [] });
    }
  } catch {
    return null;
  }
  return { form: "executable", commands };
}
