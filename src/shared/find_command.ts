import type { PermissionClass } from "../domain/runtime_permissions.ts";
import type { Files, System } from "../domain/system.ts";

export type CommandSystem = Pick<System, "files" | "environment" | "platform">;

/** The location of a command; `path` is `null` if it isn't in `PATH`, or can't be looked up. */
export interface FoundCommand {
  /** Absolute. */
  readonly path: string | null;
  readonly denied: { readonly permission: PermissionClass; readonly value: string } | null;
}

export async function findCommand(name: string, system: CommandSystem): Promise<FoundCommand> {
  let denied: FoundCommand["denied"] = null;
  for (const path of commandPaths(name, system)) {
    try {
      if (await isCommand(path, system.files)) return { path, denied: null };
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) denied ??= { permission: "read", value: path };
    }
  }
  return { path: null, denied };
}

export function commandPaths(
  name: string,
  { environment, platform }: Pick<System, "environment" | "platform">,
): readonly string[] {
  const isWindows = platform === "windows";
  const files = isWindows ? [name, `${name}.exe`] : [name];
  // An entry that is empty or relative means the working directory, from which no command is run.
  return (environment("PATH") ?? "").split(isWindows ? ";" : ":")
    .filter((directory) => isWindows ? /^([A-Za-z]:)?[\\/]/.test(directory) : directory.startsWith("/"))
    .flatMap((directory) => files.map((file) => `${directory}/${file}`));
}

export async function isCommand(path: string, files: Pick<Files, "stat">): Promise<boolean> {
  const { kind, mode } = await files.stat(path);
  return kind === "file" && (mode === null || (mode & 0o111) !== 0);
}

/** The variables that every command gets if they are set; it gets nothing else of this process's environment. */
export const PASSED_VARIABLES = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"] as const;

/** Returns the environment of a configured command: a few inherited variables, then the configured ones. */
export function chosenEnvironment(
  read: (name: string) => string | undefined,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return { ...presentVariables(read, PASSED_VARIABLES), ...given };
}

export function presentVariables(
  read: (name: string) => string | undefined,
  names: readonly string[],
): Readonly<Record<string, string>> {
  const values = names.map((name) => [name, read(name)] as const);
  return Object.fromEntries(values.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
