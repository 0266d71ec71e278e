import type { System } from "../domain/system.ts";
import programHelp from "./generated/program_help.json" with { type: "json" };
import project from "../../deno.json" with { type: "json" };

/** See `programHelp()` in `help.ts`: made of all commands, which take longer to load than most runs. */
export const PROGRAM_HELP: string = programHelp;

/** Returns the output of `--version` and `--help` without a command; `null`: the arguments are others. */
export function answerAtOnce(args: readonly string[], runtime: System["runtime"]): string | null {
  if (args.length !== 1) return null;
  const [option = ""] = args;
  if (["--version", "-V"].includes(option)) return versionText(runtime);
  return ["--help", "-h"].includes(option) ? PROGRAM_HELP : null;
}

export function versionText({ name, version, target }: System["runtime"]): string {
  return `monitor ${VERSION}\n${name} ${version} (${target})\n`;
}

export const VERSION: string = project.version;
