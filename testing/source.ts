/**
 * Runs the project's source in a separate process. `deno.json` names no lock file, so that `deno task` downloads
 * nothing: each command that loads modules with packages passes it.
 */
import { fileURLToPath } from "node:url";

/** Flags of `deno run`, `test`, `check` and `bundle`: the config with the import map, and the lock file. */
export const SOURCE_FLAGS: readonly string[] = [
  `--config=${pathOf("deno.json")}`,
  `--lock=${pathOf("deno.lock")}`,
  "--frozen",
];

/** Returns Deno's arguments that run a module of the project, up to the module. */
export function runArguments(flags: readonly string[] = ["--allow-all"]): readonly string[] {
  return ["run", "--quiet", "--no-prompt", "--no-check", ...SOURCE_FLAGS, ...flags];
}

/** The variable that names the first module of a bundle, which starts in two thirds of the time of the source. */
export const BUNDLE = "MONITOR_BUNDLE";

/**
 * Returns the command that starts `monitor`, up to its arguments: the executable that `MONITOR_PROGRAM` names, else the
 * bundle that `MONITOR_BUNDLE` names, else the source. An executable has flags of its own, so with flags it is never one. A module
 * that a flag preloads shares its modules with the source alone.
 */
export function monitorCommand(flags?: readonly string[]): readonly string[] {
  const executable = Deno.env.get("MONITOR_PROGRAM");
  if (flags === undefined && executable !== undefined) return [executable];
  const bundled = Deno.env.get(BUNDLE);
  const preloads = flags?.some((flag) => flag.startsWith("--preload="));
  if (bundled === undefined || preloads === true) {
    return [Deno.execPath(), ...runArguments(flags), pathOf("main.ts")];
  }
  const own = ["--quiet", "--no-prompt", "--no-config", "--no-lock", ...flags ?? ["--allow-all"]];
  return [Deno.execPath(), "run", ...own, bundled];
}

/** Returns whether a command starts `monitor`. */
export function startsMonitor(command: readonly string[]): boolean {
  return command.some((part) =>
    [Deno.env.get("MONITOR_PROGRAM"), Deno.env.get(BUNDLE), pathOf("main.ts")].includes(part)
  );
}

/** Returns where the source finds its packages and how they were fetched, for a process with a cleared environment. */
export function sourceEnvironment(): Readonly<Record<string, string>> {
  const home = Deno.env.get("HOME") ?? "/";
  const cache = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("XDG_CACHE_HOME") ?? `${home}/.cache`}/deno`;
  const store = Deno.env.get("DENO_TLS_CA_STORE");
  return {
    DENO_DIR: cache,
    // The runtime's own request half a second after its start would load the certificates before a slow program has.
    DENO_NO_UPDATE_CHECK: "1",
    ...(store !== undefined && { DENO_TLS_CA_STORE: store }),
  };
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../${name}`, import.meta.url));
}
