import { type Invocation, UsageError } from "./command_definition.ts";
import { isPostgresUrl, type PostgresSettings } from "../config/postgres_settings.ts";
import { hashHex } from "../shared/hash.ts";
import { dirname, isAbsolute } from "node:path";
import { pathFromHere } from "../config/source.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { System } from "../domain/system.ts";

export interface StateLocation {
  /** The absolute path of the file, or the URL of the database; `null`: nothing is stored. */
  readonly path: string | null;
  readonly postgres?: PostgresSettings;
  /** Whether the user or the config named it. Another one may be unusable without an error. */
  readonly named: boolean;
  /** Why there is no location although one was expected. */
  readonly obstacle?: string;
}

export async function locateState(
  invocation: Invocation,
  config: Pick<LoadedConfig, "statePath" | "postgres"> & {
    readonly source: Pick<LoadedConfig["source"], "path">;
  },
  system: System,
): Promise<StateLocation> {
  const named = invocation.text("state");
  if (named === "") throw new UsageError("--state is empty, expected a path or none");
  if (named === "none") return { path: null, named: true };
  if (named !== undefined && isPostgresUrl(named)) {
    return databaseLocation(await locateDatabase(named, system));
  }
  if (named !== undefined) return { path: pathFromHere(named, system), named: true };
  if (config.postgres !== null) return databaseLocation(config.postgres);
  if (config.statePath !== null) return { path: config.statePath, named: true };
  const { path } = config.source;
  if (path === null) return { path: null, named: false };
  const directory = stateDirectory(system);
  if (directory === null) return { path: null, named: false, obstacle: NO_DIRECTORY };
  return { path: `${directory}/${stateFileName(await system.files.realPath(path))}`, named: false };
}

/** @throws {UsageError} If it is invalid, or has a password. */
export async function locateDatabase(url: string, system: System): Promise<PostgresSettings> {
  const { parsePostgresUrl } = await import("../config/open_postgres.ts");
  const parsed = parsePostgresUrl(url, system.workingDirectory);
  if ("message" in parsed) throw new UsageError(parsed.message, parsed.hint);
  return parsed;
}

function databaseLocation(postgres: PostgresSettings): StateLocation {
  return { path: postgres.url, postgres, named: true };
}

const NO_DIRECTORY = "none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is set to an absolute path";

function stateDirectory(system: System): string | null {
  // Relative ones are ignored (XDG Base Directory Specification 0.8).
  const absolute = (path = ""): string | null => isAbsolute(path) ? path : null;
  // systemd lists several directories with colons; the first one is ours.
  const service = absolute(system.environment("STATE_DIRECTORY")?.split(":")[0]);
  if (service !== null) return service;
  const user = absolute(system.environment("XDG_STATE_HOME"));
  if (user !== null) return `${user}/monitor`;
  const home = absolute(system.environment("HOME"));
  return home === null ? null : `${home}/.local/state/monitor`;
}

/** Returns a readable name that no other config has. */
function stateFileName(configPath: string): string {
  const readable = configPath.split(/[\\/]/).slice(-2).join("-").replaceAll(/[^\w.-]+/g, "_").slice(-80);
  return `${readable.replace(/^[.-]+/, "")}-${hashHex(configPath, 8)}.sqlite`;
}

/** The best first. Call this before the permission to read the environment is dropped. */
export function controlPathsOf(
  { path, postgres }: StateLocation,
  { environment, platform }: Pick<System, "environment" | "platform">,
): readonly string[] {
  // Members of a shared state may run on other machines.
  if (path === null || postgres !== undefined || platform === "windows") return [];
  const name = `${hashHex(path, 16)}.sock`;
  const absolute = (variable: string): readonly string[] => {
    // systemd lists several directories with colons.
    const [directory = ""] = environment(variable)?.split(":") ?? [];
    return isAbsolute(directory) ? [directory] : [];
  };
  return [
    ...absolute("RUNTIME_DIRECTORY").map((directory) => `${directory}/control/${name}`),
    ...absolute("XDG_RUNTIME_DIR").map((directory) => `${directory}/monitor/${name}`),
    `${dirname(path)}/${name}`,
  ];
}
