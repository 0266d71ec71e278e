import { findCommand, type FoundCommand, isCommand } from "../shared/find_command.ts";
import type { System } from "../domain/system.ts";
import type { FormattedValue } from "./formatted_value.ts";
import { type Problem, quoteValue } from "./problem.ts";

export interface FoundCommands {
  /** Absolute paths by the name that the config uses. */
  readonly commands: ReadonlyMap<string, string>;
  /** One for each position in the config that names a missing command. */
  readonly problems: readonly Problem[];
}

/** Looks up in `PATH` every command that the config names without a slash, each name once. */
export async function findCommands(
  values: readonly FormattedValue[],
  directory: string,
  system: CommandSystem,
): Promise<FoundCommands> {
  const commands = new Map<string, string>();
  const missing = new Map<string, Pick<FoundCommand, "denied"> & { readonly isAlongside: boolean }>();
  const problems: Problem[] = [];
  for (const { path, value, written } of values) {
    const name = String(value);
    if (!isLookedUp(name, system.platform) || commands.has(name)) continue;
    let lack = missing.get(name);
    if (lack === undefined) {
      const { path: command, denied } = await lookUp(name, system);
      if (command !== null) {
        commands.set(name, command);
        continue;
      }
      const isAlongside = denied === null &&
        await isCommand(`${directory}/${name}`, system.files).catch(() => false);
      missing.set(name, lack = { denied, isAlongside });
    }
    problems.push({
      path,
      message: `the command ${quoteValue(written)} ${
        lack.denied === null
          ? "is not in PATH, expected its full path or one in PATH"
          : `cannot be looked up: grant --allow-${lack.denied.permission}=${lack.denied.value}`
      }`,
      isLack: true,
      ...(lack.denied !== null && { denied: lack.denied.permission }),
      ...(lack.isAlongside &&
        { hint: `write ${quoteValue(`./${written}`)} for the one in the directory of the config` }),
    });
  }
  return { commands, problems };
}

function isLookedUp(name: string, platform: System["platform"]): boolean {
  return name !== "" && !name.includes("\0") && !name.includes("/") &&
    !(platform === "windows" && name.includes("\\"));
}

type CommandSystem = Pick<System, "files" | "environment" | "mayReadEnvironment" | "platform">;

async function lookUp(name: string, system: CommandSystem): Promise<FoundCommand> {
  const denied = { permission: "env", value: "PATH" } as const;
  return system.mayReadEnvironment("PATH") ? await findCommand(name, system) : { path: null, denied };
}
