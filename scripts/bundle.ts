import { resolve } from "node:path";
import { SOURCE_FLAGS } from "../testing/source.ts";

const PROJECT = new URL("..", import.meta.url);

/** A bundle of the program. */
export interface Bundle {
  /** Path of the module to start with. */
  readonly main: string;
  /** Absolute paths of everything whose code is in it. */
  readonly sources: ReadonlySet<string>;
}

/**
 * Bundles the program, or another module of the project that starts it, into minified modules in a directory, which
 * is emptied first. Modules that the program imports dynamically are separate, so that a run that does not use them
 * does not load them.
 *
 * The bundle of a commit is reproducible.
 */
export async function bundle(directory: string, entry = "main.ts"): Promise<Bundle> {
  // The names change with the contents, so old files would remain alongside the new ones.
  await emptyDirectory(directory);
  // The maps are for their lists of sources alone.
  const args = [
    ...SOURCE_FLAGS,
    "--quiet",
    "--minify",
    "--sourcemap=external",
    "--platform=deno",
    "--code-splitting",
  ];
  await runDeno(["bundle", ...args, "--outdir", directory, entry]);
  const sources = await takeSources(directory);
  const first = `${entry.slice(entry.lastIndexOf("/") + 1).replace(/\.ts$/, "")}.js`;
  await nameModules(directory, first);
  for (const { name } of Deno.readDirSync(directory)) await Deno.utime(`${directory}/${name}`, 0, 0);
  return { main: `${directory}/${first}`, sources };
}

/**
 * Runs this very Deno in the project's directory.
 *
 * @throws {Error} If it fails.
 */
export async function runDeno(args: readonly string[]): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), { args: [...args], cwd: PROJECT }).spawn()
    .status;
  if (!success) throw new Error(`Cannot build: "deno ${args[0]}" failed`);
}

async function emptyDirectory(directory: string): Promise<void> {
  try {
    await Deno.remove(directory, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  await Deno.mkdir(directory, { recursive: true });
}

async function takeSources(directory: string): Promise<ReadonlySet<string>> {
  const sources = new Set<string>();
  for (const { name } of [...Deno.readDirSync(directory)].filter((entry) => entry.name.endsWith(".map"))) {
    const map = JSON.parse(await Deno.readTextFile(`${directory}/${name}`)) as { sources: readonly string[] };
    for (const source of map.sources) sources.add(`${directory}/${source}`);
    await Deno.remove(`${directory}/${name}`);
  }
  return new Set(await Promise.all([...sources].map(realPathOf)));
}

/** A package may name sources that it does not contain. */
async function realPathOf(source: string): Promise<string> {
  try {
    return await Deno.realPath(source);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return resolve(source);
    throw error;
  }
}

/**
 * The bundler's names: `chunk-` or the name of the module, and a hash that depends on the location of the packages.
 */
const HASHED_NAME = /(?<![\w.-])\.?(\w[\w.-]*)-[0-9A-Z]{8}\.js\b/g;

/** Numbers the modules in the order in which they are first spoken of, from the first module on. */
async function nameModules(directory: string, first: string): Promise<void> {
  const names = new Map<string, string>();
  const texts = new Map<string, string>();
  const pending = [first];
  for (let file = pending.shift(); file !== undefined; file = pending.shift()) {
    const text = await Deno.readTextFile(`${directory}/${file}`);
    texts.set(file, text);
    for (const [name, stem] of text.matchAll(HASHED_NAME)) {
      if (names.has(name) || !isModule(`${directory}/${name}`)) continue;
      names.set(name, `${stem}_${names.size + 1}.js`);
      pending.push(name);
    }
  }
  for (const [file, text] of texts) {
    refuseWideText(file, text);
    const renamed = text.replace(HASHED_NAME, (name) => names.get(name) ?? name);
    await Deno.remove(`${directory}/${file}`);
    await Deno.writeTextFile(`${directory}/${names.get(file) ?? file}`, withRequire(renamed));
  }
  const left = [...Deno.readDirSync(directory)].filter(({ name }) => name.replace(HASHED_NAME, "") === "");
  if (left.length > 0) throw new Error(`Cannot name "${left[0]?.name}": no module speaks of it`);
}

/**
 * Allows packages in CommonJS to require modules of Node: the bundler leaves that to a `require` that a bundle does
 * not have. This one loads nothing before it is called.
 */
function withRequire(text: string): string {
  if (!text.includes("Dynamic require of")) return text;
  return `const require=(name)=>process.getBuiltinModule(name);${text}`;
}

/**
 * Rejects a module that is not all ASCII: the runtime would keep it at twice its size, and read it as much slower.
 *
 * @throws {Error} With the place.
 */
export function refuseWideText(file: string, text: string): void {
  const wide = /[^\0-\x7f]/.exec(text);
  if (wide === null) return;
  const around = text.slice(Math.max(0, wide.index - 40), wide.index + 40);
  throw new Error(`Cannot build: ${file} is not all ASCII, write \\u escapes: ${around}`);
}

function isModule(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
