/**
 * Builds executables of the program: bundles it first, since `deno compile` would otherwise include every package
 * that the project names, used or not.
 *
 *     deno task compile                   dist/monitor, for this machine
 *     deno task compile --target TARGET   dist/monitor_system_machine, for another one
 *     deno task compile --all             one for each of the five targets whose base executable is available
 *     deno task compile --config FILE     dist/monitor-for-NAME, for one config, with exactly the required permissions
 *
 * `dist/SHA256SUMS` has the checksums of all executables there. Two builds of one commit by one version of Deno on
 * machines of one kind are identical byte for byte.
 *
 * `DENORT_BIN` names a base executable of this machine's kind, if Deno's own download is unreachable.
 */
import { createHash } from "node:crypto";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { readLockedDownBuild } from "./locked_down.ts";
import { bundle, runDeno } from "./bundle.ts";
import { makeProgram } from "./make_program.ts";
import { joinModules } from "./join_modules.ts";
import { keptLicenses, readLicenses } from "./licenses.ts";

const PROJECT = new URL("..", import.meta.url);

/** The names of the targets in releases, by Deno's names. Without the version, so that a link to the latest one works. */
const RELEASE_NAMES = {
  "x86_64-unknown-linux-gnu": "linux_amd64",
  "aarch64-unknown-linux-gnu": "linux_arm64",
  "x86_64-apple-darwin": "darwin_amd64",
  "aarch64-apple-darwin": "darwin_arm64",
  "x86_64-pc-windows-msvc": "windows_amd64",
} as const;
/** A target of `deno compile`. */
export type Target = keyof typeof RELEASE_NAMES;
/** The targets of a release. */
export const TARGETS = Object.keys(RELEASE_NAMES) as readonly Target[] as readonly [Target, ...Target[]];

/** The permissions of the general executable: no FFI, no prompt, and only the system facts it uses. */
export const GENERAL_PERMISSIONS: readonly string[] = [
  "--allow-read",
  "--allow-write",
  "--allow-net",
  "--allow-run",
  "--allow-env",
  "--allow-sys=uid,hostname,statfs,systemMemoryInfo,loadavg",
];

/** The flags of the engine at the start of the executable. */
const ENGINE_FLAGS: readonly string[] = [
  // Nothing that came from outside can become code.
  "--disallow-code-generation-from-strings",
  // New objects get so many megabytes at most: that saves some 40 MB of a busy monitor. After each fork every page that
  // is written to costs a fault, and new objects are written to one page after another: with four megabytes a script
  // took a sixth more processor time, and one of a thousand requests a second 3 % less.
  "--max-semi-space-size=2",
  // As many from the start: growing there takes a collection of 1 to 2 ms in the first 100 ms of each process.
  "--min-semi-space-size=2",
  // If many checks begin together, the objects of a run live long enough for the engine to allocate similar ones in
  // the old generation ever after. Those keep new ones alive: until the next full collection no object of any run
  // would be freed.
  "--no-allocation-site-pretenuring",
  // A full collection comes when old objects take so many percent more than after the last, and not only at several
  // times as much: a third less memory where a thousand requests run a second, for some 3 % more processor time.
  "--heap-growing-percent=50",
];

export interface CompileOptions {
  /** Its permissions, as Deno's flags. @default GENERAL_PERMISSIONS */
  readonly permissionFlags?: readonly string[];
  /** Its platform. @default this machine */
  readonly target?: Target;
  /** V8's own flags. @default ENGINE_FLAGS */
  readonly engineFlags?: readonly string[];
  /** A file that it reads at its start, in the directory of the module. @default none */
  readonly include?: string;
}

/**
 * Makes an executable of a bundled program, which lies in a directory alongside the bundle. For this machine's kind it
 * has cached code.
 */
export async function compileProgram(
  main: string,
  output: string,
  options: Omit<CompileOptions, "include"> = {},
): Promise<void> {
  const { target = Deno.build.target, engineFlags = ENGINE_FLAGS } = options;
  const directory = fileURLToPath(new URL("../program", pathToFileURL(main)));
  const { module, file } = await makeProgram(
    main,
    directory,
    target === Deno.build.target ? engineFlags : null,
  );
  await compileModule(module, output, { ...options, include: file });
}

/** Makes an executable of a module. The code cache is left out: it would be read from a directory all may write. */
export async function compileModule(
  module: string,
  output: string,
  { permissionFlags = GENERAL_PERMISSIONS, target, engineFlags = ENGINE_FLAGS, include }: CompileOptions = {},
): Promise<void> {
  await runDeno([
    "compile",
    "--quiet",
    "--no-config",
    "--no-lock",
    "--no-check",
    "--no-code-cache",
    ...permissionFlags,
    // Never asks for more, also on a terminal.
    "--no-prompt",
    ...(engineFlags.length === 0 ? [] : [`--v8-flags=${engineFlags.join(",")}`]),
    ...(target === undefined ? [] : ["--target", target]),
    ...(include === undefined ? [] : ["--include", include]),
    "--output",
    output,
    module,
  ]);
}

/** Returns the name of a target's files in a release, such as `monitor_linux_amd64`. */
export function releaseName(target: Target): string {
  return `monitor_${RELEASE_NAMES[target]}`;
}

/** Returns the name of an executable among those of other targets. */
export function executableName(target: Target): string {
  return `${releaseName(target)}${target.includes("windows") ? ".exe" : ""}`;
}

/** The name of this machine's own executable. */
export const OWN_NAME = Deno.build.os === "windows" ? "monitor.exe" : "monitor";

/**
 * Bundles the program for executables, beginning with another module than `main.ts` if one is named.
 *
 * @throws {Error} If the stored licenses are not those of its packages, or if it imports by a name that is not built
 * in: an executable may import any file.
 */
export async function bundleProgram(entry?: string): Promise<string> {
  const directory = fileURLToPath(new URL("dist/bundle", PROJECT));
  const { main, sources } = await bundle(directory, entry);
  await joinModules(main);
  await refuseComputedImports(directory);
  if (JSON.stringify(await readLicenses(sources)) !== JSON.stringify(await keptLicenses())) {
    throw new Error('Cannot build: the kept licenses are out of date: run "deno task licenses"');
  }
  return main;
}

/**
 * Validates the imports of a bundle.
 *
 * @throws {Error} If a module imports by anything but the plain name of a module of the bundle or of Node.
 */
export async function refuseComputedImports(directory: string): Promise<void> {
  for await (const { name } of Deno.readDir(directory)) {
    const text = await Deno.readTextFile(`${directory}/${name}`);
    const computed = /\bimport\((?!(["'])(?:\.\/[\w.-]+|node:[\w/]+)\1\))[^)]{0,60}/.exec(text);
    if (computed !== null) {
      throw new Error(`Cannot build: ${name} imports by a computed name: ${computed[0]}`);
    }
  }
}

const OPTIONS = {
  target: { type: "string", multiple: true },
  all: { type: "boolean" },
  config: { type: "string", short: "c" },
} as const;

/** The config that an executable is to be made for; `null`: it is for any. */
function readConfig(args: readonly string[]): string | null {
  return parseArgs({ args: [...args], options: OPTIONS }).values.config ?? null;
}

/** Parses the options of this script; `null` means this machine's own executable. */
export function readTargets(
  args: readonly string[],
  baseExecutable: string | undefined,
): readonly (Target | null)[] {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  const named = (values.target ?? []).map((name) => {
    const target = TARGETS.find((candidate) => candidate === name);
    if (target === undefined) throw new Error(`--target is "${name}", expected one of ${TARGETS.join(", ")}`);
    return target;
  });
  const chosen: readonly (Target | null)[] = values.all ? TARGETS : named.length > 0 ? named : [null];
  const foreign = chosen.find((target) => target !== null && target !== Deno.build.target);
  if (!foreign || !baseExecutable) return chosen;
  // Deno would use it for every target.
  if (values.all) return chosen.filter((target) => target === Deno.build.target);
  throw new Error(
    `DENORT_BIN is "${baseExecutable}", which Deno would use for "${foreign}" too: unset it, or build for this machine`,
  );
}

/** Writes the checksums of the executables of a directory, as `sha256sum --check` reads them. */
export async function writeChecksums(directory: URL): Promise<void> {
  const names = [OWN_NAME, ...TARGETS.map(executableName)].sort();
  const lines: string[] = [];
  for (const name of names) {
    const bytes = await Deno.readFile(new URL(name, directory)).catch(() => null);
    if (bytes !== null) lines.push(`${createHash("sha256").update(bytes).digest("hex")}  ${name}\n`);
  }
  await Deno.writeTextFile(new URL("SHA256SUMS", directory), lines.join(""));
}

/**
 * Compiles the available targets, and returns a warning for each target of a release that is not.
 *
 * @throws {Error} If no target can be compiled.
 */
export async function compileAll(
  targets: readonly (Target | null)[],
  compileTarget: (target: Target | null) => Promise<void>,
): Promise<readonly string[]> {
  const made = new Set<Target | null>();
  for (const target of targets) {
    await compileTarget(target).then(() => made.add(target), (error) => console.error(String(error)));
  }
  if (made.size === 0) throw new Error("Cannot build: no base executable can be downloaded");
  return TARGETS.filter((target) => !made.has(target)).map((target) =>
    `skipped ${target}: its base executable cannot be downloaded`
  );
}

async function main(args: readonly string[]): Promise<void> {
  const targets = readTargets(args, Deno.env.get("DENORT_BIN"));
  const config = readConfig(args);
  const lockedDown = config === null ? null : await readLockedDownBuild(config);
  const module = await bundleProgram(lockedDown?.entry);
  const compileTarget = async (target: Target | null): Promise<void> => {
    const plain = target === null ? OWN_NAME : executableName(target);
    const name = `dist/${plain.replace(/(\.exe)?$/, `${lockedDown?.ending ?? ""}$1`)}`;
    await compileProgram(module, name, {
      ...(target !== null && { target }),
      ...(lockedDown !== null && { permissionFlags: lockedDown.permissionFlags }),
    });
    const { size } = await Deno.stat(new URL(name, PROJECT));
    console.log(`made ${name} (${(size / 1e6).toFixed(1)} MB)`);
  };
  if (args.includes("--all")) {
    for (const warning of await compileAll(targets, compileTarget)) {
      console.error(`compile: warning: ${warning}`);
    }
  } else {
    for (const target of targets) await compileTarget(target);
  }
  if (lockedDown !== null) {
    console.log([`for ${lockedDown.config} alone, permitted:`, ...lockedDown.permissionFlags].join("\n  "));
    if (lockedDown.warning !== null) console.error(`compile: warning: ${lockedDown.warning}`);
  }
  await writeChecksums(new URL("dist/", PROJECT));
}

if (import.meta.main) {
  try {
    await main(Deno.args);
  } catch (error) {
    console.error(`compile: error: ${error instanceof Error ? error.message : String(error)}`);
    Deno.exit(1);
  }
}
