/**
 * Joins modules of a bundle that are always read together. The bundler makes one for each set of modules that import
 * the same code, which are more than a hundred; each costs the start time and memory.
 */
import { rollup } from "@rollup/wasm-node";
import { refuseWideText } from "./bundle.ts";

/**
 * The commands that the modules are arranged for, the most frequent one last. A module that it and one before it need is
 * joined with the others of that one.
 */
const COMMANDS: readonly string[] = ["beat", "validate", "check"];

/** Modules that a run of `check` loads later, in most uses. Each is joined with those that it alone needs. */
const PARTS: readonly string[] = ["sqlite_store", "run_notifying", "pretty"];

/** The static imports of a minified module. */
const STATIC_IMPORT = /(?:\bimport|\bfrom)"\.\/([\w.-]+)"/g;

/**
 * Joins the modules of a bundle in its directory. Reading, order and meaning of the rest stay as they are.
 *
 * @throws {Error} If the bundle has no module of a command.
 */
export async function joinModules(main: string): Promise<void> {
  const directory = main.slice(0, main.lastIndexOf("/"));
  const first = main.slice(directory.length + 1);
  const groups = await groupModules(directory, first);
  const bundle = await rollup({
    input: main,
    treeshake: false,
    external: (id) => id.startsWith("node:"),
    // Its warnings are about unused imports of packages; a module that it cannot find is an error.
    logLevel: "silent",
  });
  const { output } = await bundle.generate({
    format: "es",
    compact: true,
    hoistTransitiveImports: false,
    chunkFileNames: "[name].js",
    manualChunks: (path) => groups.get(path.slice(path.lastIndexOf("/") + 1)),
  });
  await bundle.close();
  for (const { name } of [...Deno.readDirSync(directory)]) await Deno.remove(`${directory}/${name}`);
  for (const module of output) {
    if (module.type !== "chunk") throw new Error(`Cannot join the modules: ${module.fileName} is none`);
    refuseWideText(module.fileName, module.code);
    await Deno.writeTextFile(`${directory}/${module.fileName}`, module.code);
    await Deno.utime(`${directory}/${module.fileName}`, 0, 0);
  }
}

/** Returns the names of the joined modules by those of the modules that go into them. */
async function groupModules(directory: string, first: string): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const { name } of Deno.readDirSync(directory)) {
    texts.set(name, await Deno.readTextFile(`${directory}/${name}`));
  }
  const neededBy = (name: string): ReadonlySet<string> => {
    const needed = new Set([name]);
    for (const module of needed) {
      for (const [, imported = ""] of texts.get(module)?.matchAll(STATIC_IMPORT) ?? []) needed.add(imported);
    }
    return needed;
  };
  const neededByEach = (entries: readonly string[]): readonly (readonly [string, ReadonlySet<string>])[] =>
    entries.map((entry) => {
      const name = [...texts.keys()].find((file) => file.replace(/_\d+\.js$/, "") === entry);
      if (name === undefined) throw new Error(`Cannot join the modules: there is no module of "${entry}"`);
      return [entry, neededBy(name)];
    });
  const ofCommands = neededByEach(COMMANDS);
  const most = ofCommands.at(-1)?.[1] ?? new Set();
  const groups = new Map<string, string>();
  for (const name of neededBy(first)) groups.set(name, "at_once");
  for (const [, needed] of neededByEach(["program"])) {
    for (const name of needed) if (!groups.has(name)) groups.set(name, "start");
  }
  for (const [command, needed] of ofCommands) {
    for (const name of needed.intersection(most)) if (!groups.has(name)) groups.set(name, `for_${command}`);
  }
  for (const [part, needed] of neededByEach(PARTS)) {
    for (const name of needed) if (!groups.has(name)) groups.set(name, `for_${part}`);
  }
  // It waits for the command at its top level: its imports must not import it.
  groups.delete(first);
  return groups;
}
