import type { FileFacts, Files, System } from "../domain/system.ts";
import { holdsSecret, substitute, type Substitution } from "./placeholders.ts";
import { ConfigError, type ConfigPath, type Problem, quoteValue, type Source } from "./problem.ts";
import { childOf, isObject, membersOf, valueAt } from "./schema_view.ts";
import { type JsonValue, parseText } from "./syntax.ts";
import { describeFileError } from "../shared/describe_error.ts";
import { absolutePath, CONFIG_BYTES_MAX, readSource } from "./source.ts";
import { matchesGlob } from "../shared/matches_glob.ts";

/** One file of a config: the config itself, or one that it includes. */
export interface ConfigFile {
  readonly source: Source;
  /** Its value with placeholders, its checks expanded; `undefined` when its syntax is broken. */
  readonly written: JsonValue | undefined;
  /** Its value without placeholders; a text whose placeholders have no value stays as written. */
  readonly value: JsonValue | undefined;
  readonly substitutions: readonly Substitution[];
  readonly problems: readonly (readonly Problem[])[];
  readonly warnings: readonly Problem[];
  /** The name in the file of each check that `for_each` made, by its own name. */
  readonly templates: ReadonlyMap<string, string>;
  /** Length of the text, and of the expansion of `for_each`. */
  readonly length: number;
  isUnresolved(path: ConfigPath): boolean;
}

interface OpenOptions {
  readonly withoutSecrets: boolean;
  /** Whether checks with `for_each` stay as they are, for a schema without it. @default false */
  readonly keepsForEach?: boolean;
}

/** Reads a text, expands its checks, and replaces its placeholders. Paths of `${file:…}` start at the file's directory. */
export async function openConfigFile(
  source: Source,
  system: System,
  { withoutSecrets, keepsForEach = false }: OpenOptions,
): Promise<ConfigFile> {
  const { value: parsed, problems } = parseText(source.text);
  if (parsed === undefined) {
    const nothing = { written: parsed, value: parsed, substitutions: [], warnings: [], templates: new Map() };
    const { length } = source.text;
    return { source, ...nothing, problems: [problems], length, isUnresolved: () => false };
  }
  const { environment, mayReadEnvironment, files } = system;
  const secrets = { environment, mayReadEnvironment, files, directory: source.directory, withoutSecrets };
  const expanded = keepsForEach || !isObject(parsed) ||
      !membersOf(parsed["checks"]).some(([, check]) => isObject(check) && "for_each" in check)
    ? { written: parsed, problems: [], templates: new Map<string, string>(), length: 0 }
    : (await import("./for_each.ts")).expandChecks(parsed);
  const { written, templates } = expanded;
  const { value, substitutions, problems: secretProblems, warnings } = await substitute(written, secrets);
  const unresolved = new Set(
    substitutions.filter(({ resolved }) => resolved === null).map(({ path }) => JSON.stringify(path)),
  );
  return {
    source,
    written,
    value,
    substitutions,
    problems: [problems, expanded.problems, secretProblems],
    warnings,
    templates,
    length: source.text.length + expanded.length,
    isUnresolved: (path) => unresolved.size > 0 && unresolved.has(JSON.stringify(path)),
  };
}

export function namesIn({ written }: Pick<ConfigFile, "written">, key: "checks" | "channels"): string[] {
  return membersOf(childOf(written, key)).map(([name]) => name);
}

interface Included {
  /** The config itself, then the other files as they are included, in depth. */
  readonly files: readonly ConfigFile[];
  /** The directories that patterns were searched in, including missing ones; absolute. */
  readonly directories: readonly string[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

interface IncludeOptions {
  readonly system: System;
  /** Whether the config was named. Files of a config that was only found must be the user's or root's. */
  readonly named: boolean;
  readonly withoutSecrets: boolean;
  /** See {@linkcode ConfigLocation}. */
  readonly sources?: readonly Source[];
}

/** No config needs more files, itself not counted. */
export const INCLUDED_FILES_MAX = 1000;
/** Each is looked up on the disk, whether it exists or not. */
const INCLUDE_ENTRIES_MAX = 1000;
/** No config needs to include deeper. */
export const INCLUDE_DEPTH_MAX = 10;

/**
 * Reads the files that a config includes, and those that they include. A file that is reached twice counts once; paths
 * are relative to the file that includes them. A config without includes reads nothing.
 *
 * @throws {Deno.errors.NotCapable} If a file may not be read.
 */
export async function readIncluded(config: ConfigFile, options: IncludeOptions): Promise<Included> {
  if (includesOf(config).length === 0) {
    return { files: [config], directories: [], problems: [], warnings: [] };
  }
  if (options.sources !== undefined) {
    const opened = options.sources.slice(1).map((source) => openConfigFile(source, options.system, options));
    return { files: [config, ...await Promise.all(opened)], directories: [], problems: [], warnings: [] };
  }
  const reader = new IncludeReader(config, options);
  await reader.read();
  return reader;
}

interface Entry {
  readonly text: string;
  readonly path: ConfigPath;
}

/** The files that a file includes; values that are no paths are reported with its structure. */
function includesOf({ value, written }: ConfigFile): readonly Entry[] {
  if (!isObject(value) || !isObject(written)) return [];
  const include = value["include"];
  const entries = Array.isArray(include) ? include : [include];
  return entries.flatMap((text, index): readonly Entry[] => {
    const path = Array.isArray(include) ? ["include", index] : ["include"];
    const isReadable = typeof text === "string" && text !== "" && !/\0|\*\*/.test(text);
    return isReadable && !holdsSecret(valueAt(written, path)) ? [{ text, path }] : [];
  });
}

/** A file on the way from the config to an included one. */
interface Link {
  /** The real path; `null` for standard input. */
  readonly path: string | null;
  readonly label: string;
}

class TooMuch extends Error {
  override readonly name = "TooMuch";
}

class IncludeReader implements Included {
  readonly files: ConfigFile[];
  readonly problems: Problem[] = [];
  readonly warnings: Problem[] = [];
  readonly #directories = new Set<string>();
  readonly #seen = new Set<string>();
  readonly #options: IncludeOptions;
  readonly #config: ConfigFile;
  #size: number;
  #entries = 0;

  constructor(config: ConfigFile, options: IncludeOptions) {
    this.#config = config;
    this.#options = options;
    this.#size = config.length;
    this.files = [config];
  }

  get directories(): readonly string[] {
    return [...this.#directories];
  }

  async read(): Promise<void> {
    const { path, label } = this.#config.source;
    const real = path === null ? null : await unlessDenied(this.#options.system.files.realPath(path));
    try {
      await this.#readIncludesOf(this.#config, [{ path: real, label }]);
    } catch (error) {
      if (!(error instanceof TooMuch)) throw error;
    }
  }

  async #readIncludesOf(file: ConfigFile, chain: readonly Link[]): Promise<void> {
    for (const entry of includesOf(file)) {
      const at = { path: entry.path, source: file.source };
      if (++this.#entries > INCLUDE_ENTRIES_MAX) {
        this.#stop(at, `is one of more than ${INCLUDE_ENTRIES_MAX} paths and patterns`);
      }
      const place = absolutePath(entry.text, file.source.directory);
      const isListed = !isGlob(entry.text) && (await this.#statOf(place))?.kind === "directory";
      const pattern = isListed ? `${entry.text.replace(/\/+$/, "")}/*` : entry.text;
      const isMatched = isGlob(pattern);
      const found = isMatched ? await this.#match(pattern, file.source, at) : [pattern];
      const paths = isListed ? found.filter((path) => /\.jsonc?$/.test(path)) : found;
      if (isMatched && paths.length === 0) {
        const what = isListed ? "has no *.json or *.jsonc file" : "matches no file";
        this.warnings.push({ ...at, message: `${quoteValue(entry.text)} ${what}, so it includes nothing` });
      }
      for (const path of paths) await this.#add(path, file.source, { at, chain, isMatched });
    }
  }

  async #match(pattern: string, { directory }: Source, at: Place): Promise<readonly string[]> {
    const { files } = this.#options.system;
    let matches;
    try {
      matches = await findMatches(pattern, directory, files);
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
      const reason = describeFileError(error, { path: directory });
      this.problems.push({ ...at, message: `${quoteValue(pattern)} cannot be looked up: ${reason}` });
      return [];
    }
    for (const place of matches.directories) await this.#addDirectory(place, at);
    return matches.paths;
  }

  async #statOf(path: string): Promise<FileFacts | null> {
    return await unlessDenied(this.#options.system.files.stat(path));
  }

  async #addDirectory(directory: string, at: Place): Promise<void> {
    if (this.#directories.has(directory)) return;
    this.#directories.add(directory);
    const mode = (await this.#statOf(directory))?.mode ?? 0;
    if ((mode & 0o002) === 0) return;
    const place = `the directory ${quoteValue(directory)} (permissions ${(mode & 0o777).toString(8)})`;
    const message = `every user of this machine can add files to ${place}`;
    this.warnings.push({ ...at, message, hint: `chmod o-w ${directory}` });
  }

  async #add(path: string, includer: Source, { at, chain, isMatched }: Way): Promise<void> {
    const { system, named, withoutSecrets } = this.#options;
    const absolute = absolutePath(path, includer.directory);
    const label = labelOf(path, includer.label);
    const real = await unlessDenied(system.files.realPath(absolute));
    const place = real === null ? -1 : chain.findIndex((link) => link.path === real);
    // A pattern such as *.jsonc may match its own file.
    if (isMatched && place === chain.length - 1 && place >= 0) return;
    if (place >= 0) {
      const circle = [...chain.slice(place).map((link) => link.label), chain[place]?.label];
      const message = `is a cycle: ${circle.map(quoteValue).join(" includes ")}`;
      this.problems.push({ ...at, message });
      return;
    }
    if (real !== null && this.#seen.has(real)) return;
    if (chain.length > INCLUDE_DEPTH_MAX) {
      const message = `includes ${quoteValue(label)}, nested more than ${INCLUDE_DEPTH_MAX} levels deep`;
      this.problems.push({ ...at, message });
      return;
    }
    if (this.files.length > INCLUDED_FILES_MAX) {
      this.#stop(at, `includes more than ${INCLUDED_FILES_MAX} files`);
    }
    if (real !== null) this.#seen.add(real);
    let source;
    try {
      source = await readSource({ path: absolute, named, label }, system);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.problems.push(...this.#toProblems(error, at));
      return;
    }
    const checkSize = (length: number): void => {
      if (this.#size + length <= CONFIG_BYTES_MAX) return;
      this.#stop(at, `makes the config larger than ${CONFIG_BYTES_MAX} bytes`);
    };
    checkSize(source.text.length);
    const file = await openConfigFile(source, system, { withoutSecrets });
    checkSize(file.length);
    this.#size += file.length;
    this.files.push(file);
    await this.#readIncludesOf(file, [...chain, { path: real, label }]);
  }

  #stop(at: Place, message: string): never {
    this.problems.push({ ...at, message });
    throw new TooMuch(message);
  }

  /** A file that is not text has its own location; others are reported at the entry that includes them. */
  #toProblems({ message, hint, problems, source, cause }: ConfigError, at: Place): readonly Problem[] {
    if (source !== null) {
      const place = { path: [], source, hint: hint ?? undefined };
      return problems.map(({ message, offset }) => ({ ...place, offset, message }));
    }
    const words = `${message.charAt(0).toLowerCase()}${message.slice(1)}`;
    // A hint for making a config is no help here, and an included file is trusted as the config is.
    if (cause instanceof Deno.errors.NotFound) return [{ ...at, message: words }];
    const trust = hint?.startsWith("name it")
      ? `name the config if you trust it: --config ${this.#config.source.label}`
      : hint;
    return [{ ...at, message: words, hint: trust ?? undefined }];
  }
}

interface Way {
  readonly at: Place;
  readonly chain: readonly Link[];
  readonly isMatched: boolean;
}

type Place = Pick<Problem, "path" | "source">;

/** `null` if a look fails; reading the file returns the error. A missing permission is thrown. */
async function unlessDenied<T>(look: Promise<T>): Promise<T | null> {
  try {
    return await look;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return null;
  }
}

/** The name of an included file in messages: relative as the including one's, so that it can be opened from here. */
function labelOf(path: string, includerLabel: string): string {
  const end = Math.max(includerLabel.lastIndexOf("/"), includerLabel.lastIndexOf("\\"));
  const directory = includerLabel.slice(0, end + 1);
  return directory === "" ? path.replace(/^\.\//, "") : absolutePath(path, directory);
}

interface GlobMatches {
  /** As the pattern is: relative or absolute; sorted by their characters. Directories, pipes and devices are left out. */
  readonly paths: readonly string[];
  /** The searched directories, including missing ones; absolute. */
  readonly directories: readonly string[];
}

/** Returns whether a path is a pattern: `*` matches any characters of one name, `?` one of them. */
export function isGlob(path: string): boolean {
  return /[*?]/.test(path);
}

/**
 * Finds the files that a pattern matches. A directory that does not exist matches nothing, and only a dot matches a
 * leading dot, as in shells. Only links to directories are followed.
 *
 * @throws An error of the runtime if a directory can't be listed.
 */
export async function findMatches(pattern: string, directory: string, files: Files): Promise<GlobMatches> {
  const [first = "", ...rest] = pattern.split("/");
  const segments = first === "" ? rest : [first, ...rest];
  const directories = new Set<string>();
  let paths: readonly string[] = [first === "" ? "/" : ""];
  for (const segment of segments) {
    if (segment === "") continue;
    if (!isGlob(segment)) {
      paths = paths.map((path) => join(path, segment));
      continue;
    }
    const found: string[] = [];
    for (const path of paths) {
      const place = path === "" ? directory : absolutePath(path, directory);
      directories.add(place);
      if (directories.size > DIRECTORIES_MAX) {
        throw new RangeError(`it leads through more than ${DIRECTORIES_MAX} directories`);
      }
      const names = await listNames(place, files);
      if (names === null) continue;
      for (const name of names) if (matchesGlob(name, segment)) found.push(join(path, name));
    }
    paths = found;
  }
  const kept: string[] = [];
  for (const path of paths) if (await isThere(absolutePath(path, directory), files)) kept.push(path);
  return { paths: kept.sort((one, other) => one < other ? -1 : 1), directories: [...directories] };
}

/** Links that lead back up make directories without end. */
const DIRECTORIES_MAX = 10_000;

function join(path: string, name: string): string {
  return path === "" || path.endsWith("/") ? path + name : `${path}/${name}`;
}

async function listNames(directory: string, files: Files): Promise<readonly string[] | null> {
  try {
    return await files.list(directory);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return null;
    throw error;
  }
}

/** Returns whether there is something to read. A broken link counts, so that reading it returns the error. */
async function isThere(path: string, files: Files): Promise<boolean> {
  try {
    return (await files.stat(path)).kind === "file";
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    if (error instanceof Deno.errors.NotADirectory) return false;
    return !(error instanceof Deno.errors.NotFound) || await isNamed(path, files);
  }
}

async function isNamed(path: string, files: Files): Promise<boolean> {
  const end = path.lastIndexOf("/");
  const names = await listNames(path.slice(0, end) || "/", files).catch(() => null);
  return names?.includes(path.slice(end + 1)) ?? false;
}
