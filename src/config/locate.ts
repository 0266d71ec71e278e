import type { System } from "../domain/system.ts";
import { ConfigError } from "./problem.ts";
import type { ConfigLocation } from "./source.ts";

const FILE_NAMES = ["monitor.jsonc", "monitor.json"];

/**
 * Finds the config: the one that is named, else the one this executable was made for, else `$MONITOR_CONFIG`, else the
 * first that exists in the working directory, the user's configuration directory and `/etc/monitor`.
 *
 * @throws {ConfigError} If none is named and none exists.
 * @throws {Deno.errors.NotCapable} If none is found where looking is allowed, and somewhere it is not.
 */
export async function locateConfig(named: string | undefined, system: System): Promise<ConfigLocation> {
  const path = named ?? system.ownConfig ?? (system.environment("MONITOR_CONFIG") || undefined);
  if (path !== undefined) return { path, named: true };
  const candidates = candidatePaths(system);
  let denied: Error | undefined;
  for (const candidate of candidates) {
    const answer = await look(candidate, system);
    if (answer === "found") return { path: candidate, named: false };
    if (answer instanceof Error) denied ??= answer;
  }
  if (denied !== undefined) throw denied;
  throw new ConfigError(`cannot find a config: looked for ${candidates.join(", ")}`, {
    hint: "set --config PATH, or create one with: monitor init",
  });
}

function candidatePaths(system: System): readonly string[] {
  const home = system.environment("HOME");
  const named = system.environment("XDG_CONFIG_HOME");
  // The XDG base directory specification: a relative path is to be ignored.
  const userDirectory = named?.startsWith("/") ? named : home ? `${home}/.config` : undefined;
  const directories = [
    ".",
    ...(userDirectory === undefined ? [] : [`${userDirectory}/monitor`]),
    "/etc/monitor",
  ];
  return directories.flatMap((directory) => FILE_NAMES.map((name) => `${directory}/${name}`));
}

/** Returns whether a file is there; an error when the runtime's permissions forbid to look. */
async function look(path: string, system: System): Promise<"found" | "missing" | Error> {
  try {
    await system.files.stat(path);
    return "found";
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) return error;
    // A directory without permission to read has no config for us; other errors are reported by reading it.
    const isMissing = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.PermissionDenied ||
      error instanceof Deno.errors.NotADirectory;
    return isMissing ? "missing" : "found";
  }
}
