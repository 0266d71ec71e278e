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
 * Bundles the program, or another module of the project that starts it, into minified modules in a folder, which is emptied first. What the program imports only when
 * it needs it is a module of its own, so that a run that does without it does not read it.
 *
 * The bundle of one commit is the same wherever and whenever it is made.
 */
export async function bundle(folder: string, entry = "main.ts"): Promise<Bundle> {
  // The names change with the contents, so what was made before would stay beside it.
  await emptyFolder(folder);
  // The maps are for their lists of sources alone.
  const args = [
    ...SOURCE_FLAGS,
    "--quiet",
    "--minify",
    "--sourcemap=external",
    "--platform=deno",
    "--code-splitting",
  ];
  await runDeno(["bundle", ...args, "--outdir", folder, entry]);
  const sources = await takeSources(folder);
  const first = `${entry.slice(entry.lastIndexOf("/") + 1).replace(/\.ts$/, "")}.js`;
  await nameModules(folder, first);
  for (const { name } of Deno.readDirSync(folder)) await Deno.utime(`${folder}/${name}`, 0, 0);
  return { main: `${folder}/${first}`, sources };
}

/**
 * Runs this very Deno in the project's folder.
 *
 * @throws {Error} If it fails.
 */
export async function runDeno(args: readonly string[]): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), { args: [...args], cwd: PROJECT }).spawn()
    .status;
  if (!success) throw new Error(`Cannot build: "deno ${args[0]}" failed`);
}

async function emptyFolder(folder: string): Promise<void> {
  try {
    await Deno.remove(folder, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  await Deno.mkdir(folder, { recursive: true });
}

async function takeSources(folder: string): Promise<ReadonlySet<string>> {
  const sources = new Set<string>();
  for (const { name } of [...Deno.readDirSync(folder)].filter((entry) => entry.name.endsWith(".map"))) {
    const map = JSON.parse(await Deno.readTextFile(`${folder}/${name}`)) as { sources: readonly string[] };
    for (const source of map.sources) sources.add(`${folder}/${source}`);
    await Deno.remove(`${folder}/${name}`);
  }
  return new Set(await Promise.all([...sources].map((source) => Deno.realPath(source))));
}

/** The bundler's names: `chunk-` or what the module was, and a hash of, among others, where the packages lie. */
const HASHED_NAME = /\b([\w.-]+)-[0-9A-Z]{8}\.js\b/g;

/** Numbers the modules in the order in which they are first spoken of, from the first module on. */
async function nameModules(folder: string, first: string): Promise<void> {
  const names = new Map<string, string>();
  const texts = new Map<string, string>();
  const pending = [first];
  for (let file = pending.shift(); file !== undefined; file = pending.shift()) {
    const text = await Deno.readTextFile(`${folder}/${file}`);
    texts.set(file, text);
    for (const [name, stem] of text.matchAll(HASHED_NAME)) {
      if (names.has(name) || !isModule(`${folder}/${name}`)) continue;
      names.set(name, `${stem}_${names.size + 1}.js`);
      pending.push(name);
    }
  }
  for (const [file, text] of texts) {
    refuseWideText(file, text);
    const renamed = text.replace(HASHED_NAME, (name) => names.get(name) ?? name);
    await Deno.remove(`${folder}/${file}`);
    await Deno.writeTextFile(`${folder}/${names.get(file) ?? file}`, renamed);
  }
  const left = [...Deno.readDirSync(folder)].filter(({ name }) => name.replace(HASHED_NAME, "") === "");
  if (left.length > 0) throw new Error(`Cannot name "${left[0]?.name}": no module speaks of it`);
}

/** The runtime keeps a module that is not all ASCII at twice its size, and reads it as much slower. */
function refuseWideText(file: string, text: string): void {
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
