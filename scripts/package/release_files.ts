import { licensesText } from "../../src/cli/commands/licenses.ts";
import { loadCommands } from "../../src/cli/command_loaders.ts";
import { SHELL_ENTRIES } from "../../src/cli/commands/completions.ts";
import licenses from "../../src/cli/generated/licenses.json" with { type: "json" };
import { manPage } from "../man_page.ts";

const COMMANDS = await loadCommands();

const PROJECT = new URL("../../", import.meta.url);

/** A file of a release: where it goes, and its content. */
export interface ReleaseFile {
  /** Relative, with slashes. */
  readonly path: string;
  /** As it is, text or not. */
  readonly content: Uint8Array;
  /** Whether everybody may run it. */
  readonly isExecutable: boolean;
}

/** When the release was made: the time of its commit, so that it does not matter when it is built. */
export interface ReleaseTime {
  /** Seconds since 1970. */
  readonly epochSeconds: number;
  /** Such as `2026-01-31`. */
  readonly date: string;
}

/** Returns `SOURCE_DATE_EPOCH`, or the time of the commit that is checked out. */
export async function readReleaseTime(): Promise<ReleaseTime> {
  const given = Deno.env.get("SOURCE_DATE_EPOCH");
  const epochSeconds = Number(given ?? await run("git", ["log", "-1", "--format=%ct"]));
  if (!Number.isInteger(epochSeconds)) {
    throw new Error(`SOURCE_DATE_EPOCH is "${given}", expected seconds since 1970`);
  }
  return { epochSeconds, date: new Date(epochSeconds * 1000).toISOString().slice(0, 10) };
}

/**
 * Runs a command in the project's directory and returns its output.
 *
 * @throws {Error} If it fails.
 */
export async function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args: [...args], cwd: PROJECT, env })
    .output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`Cannot package: "${program}" failed: ${decoder.decode(stderr).trim()}`);
  return decoder.decode(stdout).trim();
}

/** A file of text. */
export function textFile(path: string, text: string): ReleaseFile {
  return { path, content: new TextEncoder().encode(text), isExecutable: false };
}

/** Returns the files alongside an executable in an archive: everything for its installation. */
export async function companions({ date }: ReleaseTime): Promise<readonly ReleaseFile[]> {
  return [
    ...await readTree("examples"),
    ...await readTree("docs"),
    ...await readTree("README.md"),
    ...await readTree("CHANGELOG.md"),
    ...await readTree("LICENSE"),
    textFile("LICENSES.txt", licensesText(licenses, { name: "Deno", version: Deno.version.deno })),
    textFile("man/monitor.1", manPage(COMMANDS, date)),
    textFile("completions/monitor.bash", SHELL_ENTRIES.bash.script),
    textFile("completions/_monitor", SHELL_ENTRIES.zsh.script),
    textFile("completions/monitor.fish", SHELL_ENTRIES.fish.script),
  ].map(fitToArchive);
}

/** In an archive the executable is alongside the examples, and nothing is compiled. */
function fitToArchive(file: ReleaseFile): ReleaseFile {
  if (!file.path.endsWith("/Containerfile")) return file;
  const text = new TextDecoder().decode(file.content)
    .replace("In the repository's directory, after `deno task compile`:", "In the directory of this release:")
    .replace("COPY --chmod=755 dist/monitor ", "COPY --chmod=755 monitor ");
  return textFile(file.path, text);
}

/** A file of the project, or all of a directory. */
export async function readTree(path: string): Promise<readonly ReleaseFile[]> {
  const { isDirectory, mode } = await Deno.stat(new URL(path, PROJECT));
  if (!isDirectory) {
    const content = await Deno.readFile(new URL(path, PROJECT));
    return [{ path, content, isExecutable: ((mode ?? 0) & 0o100) !== 0 }];
  }
  const entries = [...Deno.readDirSync(new URL(path, PROJECT))].map(({ name }) => `${path}/${name}`);
  return (await Promise.all(entries.sort().map(readTree))).flat();
}

/** Writes files below a directory, with the same permissions and times for every user. */
export async function writeTree(
  directory: string,
  files: readonly ReleaseFile[],
  time: ReleaseTime,
): Promise<void> {
  for (const { path, content, isExecutable } of files) {
    const full = `${directory}/${path}`;
    await Deno.mkdir(full.slice(0, full.lastIndexOf("/")), { recursive: true });
    await Deno.writeFile(full, content);
    await Deno.chmod(full, isExecutable ? 0o755 : 0o644);
  }
  await settle(directory, time);
}

/** The rights of directories, which hang on the umask, and all times; the deepest first, since writing changes them. */
async function settle(path: string, time: ReleaseTime): Promise<void> {
  const entry = await Deno.lstat(path);
  if (entry.isDirectory) {
    for (const { name } of Deno.readDirSync(path)) await settle(`${path}/${name}`, time);
    await Deno.chmod(path, 0o755);
  }
  await Deno.utime(path, time.epochSeconds, time.epochSeconds);
}
