/**
 * The steps of a release. The workflow `.github/workflows/release.yml` runs nothing but these.
 *
 *     deno task release check v0.1.0 [OWNER/REPOSITORY]   the tag, the changelog and the URL agree
 *     deno task release build                             executables of all targets, packages, SBOM, checksums
 *     deno task release upload v0.1.0                     creates the release with GitHub's `gh`
 *     deno task release image v0.1.0 IMAGE                builds the container image and pushes it
 *
 * `--dry-run` before `upload` and `image` prints the commands instead of running them.
 */
import { createHash } from "node:crypto";
import project from "../deno.json" with { type: "json" };
import licenses from "../src/cli/generated/licenses.json" with { type: "json" };
import { PROJECT_URL } from "../src/cli/help.ts";
import { readReleaseTime } from "./package/release_files.ts";
import { createSbom } from "./release/sbom.ts";

const PROJECT = new URL("../", import.meta.url);
const PACKAGES = new URL("dist/packages/", PROJECT);

/** The file name of the SBOM in a release. */
export const SBOM_NAME = "monitor.cdx.json";

/**
 * Checks that a tag can be released.
 *
 * @param repository GitHub's name of the repository, `OWNER/NAME`. @default the one of the project's URL
 * @throws {Error} If the tag, the version, the changelog or the URL don't agree.
 */
export async function checkRelease(tag: string, repository?: string): Promise<void> {
  if (tag !== `v${project.version}`) {
    throw new Error(
      `Cannot release "${tag}": deno.json has version ${project.version}, expected v${project.version}`,
    );
  }
  const changelog = await Deno.readTextFile(new URL("CHANGELOG.md", PROJECT));
  if (!new RegExp(`^## ${project.version.replaceAll(".", "\\.")}\\b`, "m").test(changelog)) {
    throw new Error(`Cannot release "${tag}": CHANGELOG.md has no section "## ${project.version}"`);
  }
  if (repository !== undefined && !PROJECT_URL.endsWith(`/${repository}`)) {
    throw new Error(`Cannot release from "${repository}": src/cli/help.ts has ${PROJECT_URL}`);
  }
}

interface LockFile {
  readonly npm: Readonly<Record<string, { readonly integrity: string }>>;
}

/** Returns the SBOM of the executables. */
export async function releaseSbom(): Promise<string> {
  const { epochSeconds } = await readReleaseTime();
  const lock = JSON.parse(await Deno.readTextFile(new URL("deno.lock", PROJECT))) as LockFile;
  // A key may end with the package's peers: name@1.0.0_peer@2.0.0.
  const locked = new Map(
    Object.entries(lock.npm).map(([key, { integrity }]) => [key.replace(/(.)_.*/, "$1"), integrity]),
  );
  return createSbom({
    version: project.version,
    runtimeVersion: Deno.version.deno,
    packages: licenses.packages,
    integrityOf: (name, version) => locked.get(`${name}@${version}`),
    epochSeconds,
  });
}

/** Adds the SBOM and the installer to the packages, and their checksums to the list. */
export async function completeRelease(packages: URL): Promise<void> {
  await Deno.writeTextFile(new URL(SBOM_NAME, packages), await releaseSbom());
  const installer = await Deno.readTextFile(new URL("scripts/install.sh", PROJECT));
  await Deno.writeTextFile(new URL("install.sh", packages), installer);
  const names = [...Deno.readDirSync(packages)].map(({ name }) => name).filter((name) =>
    name !== "SHA256SUMS"
  ).sort();
  const sums = names.map((name) => {
    const hash = createHash("sha256").update(Deno.readFileSync(new URL(name, packages)));
    return `${hash.digest("hex")}  ${name}\n`;
  });
  await Deno.writeTextFile(new URL("SHA256SUMS", packages), sums.join(""));
}

/** A command with its arguments. */
export type Command = readonly string[];

/** Returns the command that creates the release of a tag with all files of a directory. */
export function uploadCommand(tag: string, names: readonly string[]): Command {
  return [
    "gh",
    "release",
    "create",
    tag,
    "--verify-tag",
    "--title",
    tag,
    "--notes",
    releaseNotes(tag),
    ...names,
  ];
}

function releaseNotes(tag: string): string {
  return `What changed: ${PROJECT_URL}/blob/${tag}/CHANGELOG.md`;
}

/** Returns the commands that build a container image from an unpacked archive and push it. */
export function imageCommands(tag: string, image: string): readonly Command[] {
  const names = [`${image}:${tag.slice(1)}`, `${image}:latest`];
  return [
    [
      "docker",
      "build",
      ...names.flatMap((name) => ["--tag", name]),
      "--file",
      "examples/container/Containerfile",
      ".",
    ],
    ...names.map((name) => ["docker", "push", name]),
  ];
}

async function runAll(
  commands: readonly Command[],
  { isDry, cwd }: { isDry: boolean; cwd: URL },
): Promise<void> {
  for (const [program = "", ...args] of commands) {
    console.log(`+ ${[program, ...args].join(" ")}`);
    if (isDry) continue;
    const { success } = await new Deno.Command(program, { args, cwd }).spawn().status;
    if (!success) throw new Error(`Cannot release: "${program}" failed`);
  }
}

async function runTask(...args: readonly string[]): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), { args: ["task", ...args], cwd: PROJECT })
    .spawn().status;
  if (!success) throw new Error(`Cannot release: "deno task ${args.join(" ")}" failed`);
}

async function main(args: readonly string[]): Promise<void> {
  const isDry = args.includes("--dry-run");
  const [step, tag = "", extra] = args.filter((arg) => arg !== "--dry-run");
  if (step === "check") return await checkRelease(tag, extra);
  if (step === "build") {
    await runTask("compile", "--all");
    await runTask("package");
    return await completeRelease(PACKAGES);
  }
  if (step === "upload") {
    const names = isDry ? [] : [...Deno.readDirSync(PACKAGES)].map(({ name }) => name).sort();
    return await runAll([uploadCommand(tag, names)], { isDry, cwd: PACKAGES });
  }
  if (step === "image" && extra !== undefined) {
    // The path in the Containerfile.
    if (!isDry) {
      await Deno.copyFile(new URL("dist/monitor_linux_amd64", PROJECT), new URL("dist/monitor", PROJECT));
    }
    return await runAll(imageCommands(tag, extra), { isDry, cwd: PROJECT });
  }
  throw new Error(`Cannot run release step "${args.join(" ")}", expected check, build, upload or image`);
}

if (import.meta.main) {
  try {
    await main(Deno.args);
  } catch (error) {
    console.error(`release: error: ${error instanceof Error ? error.message : String(error)}`);
    Deno.exit(1);
  }
}
