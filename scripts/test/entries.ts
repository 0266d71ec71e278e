/**
 * What a run starts: an entry for the simulated services, and few for all other layers, which are the directories directly
 * below `tests/`. An entry is a process with one module that imports all test modules of its layers: a process, or only
 * an isolate, for each of them would cost more than most tests.
 */
import { existsSync } from "node:fs";
import { relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The directory of the project. */
export const PROJECT: string = fileURLToPath(new URL("../..", import.meta.url));
/** Its tests compile executables; `deno task executable` runs them. */
const APART = "executable";
/** About the most that layers of one process have together, in bytes of their modules, if there may be more. */
const SHARED_WEIGHT = 300_000;
/** Hours of simulated services take the longest, in a process of their own. */
const FIRST = "simulation";
/** Tests of running services wait: they take this many times as long as others of their size. */
const WAITING = { directory: "/tests/life/", factor: 5 };

/** The test modules of a layer, or of several. */
export interface Entry {
  /** The names of the layers. */
  readonly name: string;
  /** Absolute paths. */
  readonly files: readonly string[];
  /** Environment variables of its process, in addition to those of the run. */
  readonly variables: Readonly<Record<string, string>>;
}

/**
 * Returns the entries for some files and directories, or for all tests. The largest are first, since the last to begin
 * should be short.
 *
 * @param countMax The most entries: each costs some seconds.
 * @throws {RangeError} If a path does not exist.
 */
export function entriesOf(paths: readonly string[], countMax: number): readonly Entry[] {
  const layers = new Map<string, string[]>();
  const add = (file: string): void => {
    const path = relative(PROJECT, file);
    const layer = /^tests\/([^/]+)\//.exec(path)?.[1] ?? path;
    if (paths.length > 0 || layer !== APART) layers.set(layer, [...layers.get(layer) ?? [], file]);
  };
  for (const path of paths.length > 0 ? paths : ["tests"]) filesOf(resolve(PROJECT, path)).forEach(add);
  const entries = [...layers]
    .map(([name, files]): Entry => ({ name, files: [...new Set(files)].sort(), variables: {} }))
    .sort(largestFirst);
  const others = shared(entries.filter(({ name }) => name !== FIRST), Math.max(1, countMax - 1));
  return [...entries.filter(({ name }) => name === FIRST), ...others.toSorted(largestFirst)];
}

/** Joins entries to a few of about the same size. */
function shared(entries: readonly Entry[], countMax: number): readonly Entry[] {
  const count = Math.min(countMax, Math.ceil(weightOf(joined(entries)) / SHARED_WEIGHT));
  const groups: Entry[][] = Array.from({ length: count }, () => []);
  for (const entry of entries) {
    const [smallest] = groups.toSorted((one, other) => weightOf(joined(one)) - weightOf(joined(other)));
    smallest?.push(entry);
  }
  return groups.map(joined);
}

function largestFirst(one: Entry, other: Entry): number {
  return weightOf(other) - weightOf(one);
}

function joined(entries: readonly Entry[]): Entry {
  const name = entries.map((entry) => entry.name).sort().join(", ");
  return { name, files: entries.flatMap(({ files }) => files), variables: {} };
}

/**
 * Returns the source of the module that imports the test modules of an entry. One that can't be imported is a failed
 * test, and the others run.
 */
export function sourceOf({ files }: Entry): string {
  const imports = files.map((file) => {
    const name = JSON.stringify(`import of ${relative(PROJECT, file)}`);
    const url = JSON.stringify(pathToFileURL(file).href);
    return `try { await import(${url}); } catch (error) { Deno.test(${name}, () => { throw error; }); }\n`;
  });
  return imports.join("");
}

/** Returns a file itself, or the test modules below a directory. */
function filesOf(path: string): readonly string[] {
  if (!existsSync(path)) throw new RangeError(`no such file or directory: ${path}`);
  if (!Deno.statSync(path).isDirectory) return [path];
  return [...Deno.readDirSync(path)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesOf(`${path}/${name}`) : name.endsWith("_test.ts") ? [`${path}/${name}`] : []
  );
}

function weightOf({ files }: Entry): number {
  const { directory, factor } = WAITING;
  return files.reduce(
    (sum, file) => sum + Deno.statSync(file).size * (file.includes(directory) ? factor : 1),
    0,
  );
}
