/**
 * Stores the licenses that `monitor licenses` prints: those of the packages whose code is really in the bundle, and
 * of foreign code in their files.
 *
 *     deno task licenses
 */
import type { LicensedPackage, Licenses } from "../src/cli/commands/licenses.ts";
import { bundle } from "./bundle.ts";

const PROJECT = new URL("..", import.meta.url);
const KEPT = new URL("src/cli/generated/licenses.json", PROJECT);

/**
 * Returns the licenses of a program that was bundled from these sources.
 *
 * @throws {Error} If a package does not declare its license.
 */
export async function readLicenses(sources: Iterable<string>): Promise<Licenses> {
  const files = [...sources].sort().filter((source) => PACKAGE_DIRECTORY.test(source));
  const directories = new Set(files.flatMap((source) => PACKAGE_DIRECTORY.exec(source)?.[0] ?? []));
  const packages = await Promise.all([...directories].map(readPackage));
  const texts = await Promise.all(files.map(readSource));
  const known = new Set(packages.map(({ name }) => name));
  const parts = texts.flatMap(findParts).filter(({ name }) => !known.has(name));
  return { monitor: await Deno.readTextFile(new URL("LICENSE", PROJECT)), packages: [...packages, ...parts] };
}

/** Returns the text of a source; an empty one if its package contains only what was made of it. */
async function readSource(file: string): Promise<string> {
  try {
    return await Deno.readTextFile(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

/** A comment that declares the license of the code after it. */
const PART = /^\/\*\n \* (?<name>\S+) version (?<version>\d\S*)\n(?<rest>(?: \*.*\n)*?) \*\/$/gm;

/** Finds parts of a file that were also published separately. */
function findParts(text: string): readonly LicensedPackage[] {
  return [...text.matchAll(PART)].map(({ groups: { name = "", version = "", rest = "" } = {} }) => {
    const lines = rest.split("\n").map((line) => line.replace(/^ \* ?/, "").trimEnd());
    const title = lines.findIndex((line) => line.endsWith(" License"));
    if (title < 0) throw new Error(`Cannot find the license of "${name}" ${version}`);
    const license = lines[title]?.replace(/ License$/, "") ?? "";
    return { name, version, license, text: `${lines.slice(title).join("\n").trim()}\n` };
  });
}

/** The licenses that are kept. */
export async function keptLicenses(): Promise<Licenses> {
  return JSON.parse(await Deno.readTextFile(KEPT)) as Licenses;
}

/** Where the runtime keeps a package: `…/npm/REGISTRY/NAME/VERSION/`, the name of some with a scope before it. */
const PACKAGE_DIRECTORY = /^.*\/npm\/[^/]+\/(@[^/]+\/)?[^/]+\/\d[^/]*\//;

async function readPackage(directory: string): Promise<LicensedPackage> {
  const { name, version, license } = JSON.parse(await Deno.readTextFile(`${directory}package.json`)) as {
    name: string;
    version: string;
    license?: string;
  };
  const files = [...Deno.readDirSync(directory)].map((entry) => entry.name);
  const file = files.sort().find((candidate) => /^licen[cs]e(\.(md|txt))?$/i.test(candidate));
  if (license === undefined || file === undefined) {
    throw new Error(`Cannot find the license of "${name}" ${version}`);
  }
  const text = (await Deno.readTextFile(directory + file)).replaceAll("\r\n", "\n").trim();
  return { name, version, license: license, text: `${text}\n` };
}

if (import.meta.main) {
  const directory = await Deno.makeTempDir({ prefix: "monitor_licenses_" });
  try {
    const { sources } = await bundle(directory);
    await Deno.mkdir(new URL(".", KEPT), { recursive: true });
    await Deno.writeTextFile(KEPT, `${JSON.stringify(await readLicenses(sources), null, 2)}\n`);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
