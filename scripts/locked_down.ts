/** The parts of an executable for one config: a first module that contains the config, and its permissions. */
import { resolve } from "node:path";
import { runArguments } from "../testing/source.ts";
import { permissionFlags, type PermissionsByClass } from "../src/permissions/required_permissions.ts";

const PROJECT = new URL("..", import.meta.url);

/** The parts of an executable for one config. */
export interface LockedDownBuild {
  /** Path of the module to start with, in the project's directory. */
  readonly entry: string;
  /** Of the executable's name, so that it does not take the place of the one for any config. */
  readonly ending: string;
  /** Absolute path of the config. */
  readonly config: string;
  /** A surprise for its users; `null`: none. */
  readonly warning: string | null;
  /** Deno's flags, with only the permissions that the config requires. */
  readonly permissionFlags: readonly string[];
}

/**
 * Reads a config, as the program does, and writes the first module of an executable for it alone.
 *
 * @throws {Error} If the config is not valid; the program has printed the errors.
 */
export async function readLockedDownBuild(configPath: string): Promise<LockedDownBuild> {
  // A task runs in the project's directory, whatever directory it is called from.
  const path = await Deno.realPath(resolve(Deno.env.get("INIT_CWD") ?? Deno.cwd(), configPath));
  const { machine_specific, ...requiredPermissions } = await askPermissions(path);
  if (machine_specific.length > 0) {
    throw new Error(
      `Cannot lock down "${path}": ${machine_specific.join(" and ")} holds for this machine only: ` +
        'set "server" of each dns_lookup',
    );
  }
  const entry = "dist/locked_down_main.ts";
  await Deno.mkdir(new URL("dist/", PROJECT), { recursive: true });
  await Deno.writeTextFile(new URL(entry, PROJECT), entryText(path));
  const isStateNamed = !requiredPermissions.env.includes("STATE_DIRECTORY");
  return {
    entry,
    ending: `-for-${path.slice(path.lastIndexOf("/") + 1).replace(/\.jsonc?$/, "")}`,
    config: path,
    warning: isStateNamed ? null : UNNAMED_STATE,
    permissionFlags: permissionFlags(requiredPermissions),
  };
}

const UNNAMED_STATE =
  'the config names no "state", so it may be kept only where it would be kept for you now; name it';

/** See `monitor permissions --format json`. */
type PrintedPermissions = PermissionsByClass & { readonly machine_specific: readonly string[] };

async function askPermissions(path: string): Promise<PrintedPermissions> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [...runArguments(), "main.ts", "permissions", "--format", "json", "--config", path],
    cwd: PROJECT,
    stdin: "null",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error(`Cannot lock down "${path}": see above`);
  return JSON.parse(new TextDecoder().decode(stdout)) as PrintedPermissions;
}

function entryText(path: string): string {
  return [
    'const { runProgram } = await import("../program.ts");',
    `Deno.exit(await runProgram(Deno.args, { ownConfig: ${JSON.stringify(path)} }));`,
    "",
  ].join("\n");
}
