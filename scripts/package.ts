/**
 * Creates the files of a release from the executables in `dist/`: an archive for each, Debian packages for Linux, and
 * the checksums of all.
 *
 *     deno task compile && deno task package     dist/packages/
 *
 * The same commit and the same executables result in the same bytes. Its time is that of the commit, or
 * `SOURCE_DATE_EPOCH`. It requires GNU tar, and for the Debian packages `dpkg-deb`, if that is installed.
 */
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { executableName, OWN_NAME, releaseName, type Target, TARGETS } from "./compile.ts";
import { makeTarball, makeZip } from "./package/archive.ts";
import { DEBIAN_ARCHITECTURES, makeDebianPackage } from "./package/debian.ts";
import { companions, readReleaseTime, type ReleaseFile } from "./package/release_files.ts";

const PROJECT = new URL("..", import.meta.url);

/** The directories of the executables and of the packages. */
export interface PackageDirectories {
  /** With a slash at its end, as the other. */
  readonly executables: URL;
  /** Emptied first. */
  readonly packages: URL;
}

/** Creates the packages of all executables in the directory, and returns their names. */
export async function makePackages(
  { executables, packages }: PackageDirectories,
): Promise<readonly string[]> {
  const time = await readReleaseTime();
  const files = await companions(time);
  await Deno.remove(packages, { recursive: true }).catch(() => {});
  await Deno.mkdir(packages, { recursive: true });
  const made: string[] = [];
  for (const target of TARGETS) {
    const executable = await findExecutable(target, executables);
    if (executable === null) continue;
    const name = releaseName(target);
    const isWindows = target.includes("windows");
    const program: ReleaseFile = {
      path: isWindows ? "monitor.exe" : "monitor",
      content: executable,
      isExecutable: true,
    };
    const archive = `${name}${isWindows ? ".zip" : ".tar.gz"}`;
    const makeArchive = isWindows ? makeZip : makeTarball;
    await makeArchive(fileURLToPath(new URL(archive, packages)), { name, files: [program, ...files], time });
    made.push(archive);
    const architecture = DEBIAN_ARCHITECTURES[target];
    if (architecture === undefined || !await hasDebianTool()) continue;
    const debianName = `${name}.deb`;
    const options = { architecture, executable, companions: files, time };
    await makeDebianPackage(fileURLToPath(new URL(debianName, packages)), options);
    made.push(debianName);
  }
  const sums = await Promise.all(made.map(async (name) => {
    const hash = createHash("sha256").update(await Deno.readFile(new URL(name, packages)));
    return `${hash.digest("hex")}  ${name}\n`;
  }));
  await Deno.writeTextFile(new URL("SHA256SUMS", packages), sums.join(""));
  return made;
}

async function findExecutable(target: Target, directory: URL): Promise<Uint8Array | null> {
  const names = [executableName(target), ...(target === Deno.build.target ? [OWN_NAME] : [])];
  for (const name of names) {
    const content = await Deno.readFile(new URL(name, directory)).catch(() => null);
    if (content !== null) return content;
  }
  return null;
}

async function hasDebianTool(): Promise<boolean> {
  return await Deno.stat("/usr/bin/dpkg-deb").then(() => true, () => false);
}

if (import.meta.main) {
  const dist = new URL("dist/", PROJECT);
  const made = await makePackages({ executables: dist, packages: new URL("packages/", dist) });
  if (made.length === 0) {
    console.error('package: error: there is no executable in dist/: run "deno task compile" first');
    Deno.exit(1);
  }
  for (const name of [...made, "SHA256SUMS"]) console.log(`made dist/packages/${name}`);
}
