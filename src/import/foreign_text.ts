import { positionOf } from "../config/positions.ts";
import { ConfigError, countErrors, PROBLEMS_MAX } from "../config/problem.ts";
import { describeFileError, messageOf } from "../shared/describe_error.ts";
import { oneLine } from "../shared/text.ts";
import { Foreign, isObject } from "./foreign_value.ts";
import { findMatches } from "../config/glob.ts";
import { absolutePath } from "../config/source.ts";
import type { Files } from "../domain/files.ts";
import { readRegularFile } from "../shared/regular_file.ts";
import { dirname, normalize } from "node:path";

export interface ForeignFile {
  /** The name in messages: the path as given, or `<stdin>`. */
  readonly label: string;
  /** Absolute path; `null` for standard input. */
  readonly path: string | null;
  /** At most {@linkcode FOREIGN_BYTES_MAX}; empty for a database. */
  readonly bytes: Uint8Array;
}

/** A larger file is rejected. Parsers need about a second for one of this size. */
export const FOREIGN_BYTES_MAX = 8 * 1024 * 1024;

interface ForeignProblem {
  readonly message: string;
  /** In characters of the text. */
  readonly offset: number;
}

export function importError(
  file: Pick<ForeignFile, "label">,
  reason: string,
  { text, problems = [], hint }: {
    readonly text?: string;
    readonly problems?: readonly ForeignProblem[];
    readonly hint?: string;
  } = {},
): ConfigError {
  return new ConfigError(`cannot import "${file.label}": ${reason}`, {
    ...(hint !== undefined && { hint }),
    ...(text !== undefined && {
      source: { label: file.label, path: null, directory: "/", text, mode: null },
      problems: problems.slice(0, PROBLEMS_MAX).map(({ message, offset }) => ({
        path: "",
        message,
        hint: null,
        ...positionOf(text, offset),
        offset,
      })),
    }),
  });
}

/** @throws {ConfigError} If it is not UTF-8. */
export function decodeText(file: ForeignFile): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(file.bytes);
  } catch {
    throw importError(file, "it is not a text in UTF-8");
  }
}

/** @throws {ConfigError} If it is malformed. */
export function parseJson(file: ForeignFile): unknown {
  const text = decodeText(file);
  if (isNestedTooDeeply(text)) throw importError(file, `it is nested more than ${NESTING_MAX} levels deep`);
  try {
    return JSON.parse(text);
  } catch (error) {
    const [, at] = / at position (\d+)/.exec(messageOf(error)) ?? [];
    const offset = at === undefined ? text.length : Number(at);
    const problems = [{ message: "the text is not JSON from here on", offset }];
    throw importError(file, "it is not JSON", { text, problems });
  }
}

/** Longer YAML is rejected: the library requires about a second and 200 MB for this length. */
const YAML_LENGTH_MAX = 1024 * 1024;
/** Deeper nesting is rejected before the library recurses into it. */
const NESTING_MAX = 200;
/** Values after all aliases are replaced. */
const VALUES_MAX = 500_000;
/** The library searches the text for each. */
const ALIASES_MAX = 10_000;
const ERRORS_SHOWN = 20;

/**
 * Parses one YAML 1.2 document, also with merge keys (`<<`).
 *
 * @throws {ConfigError} If it is malformed, or its aliases expand to too much.
 */
export async function parseYaml(file: ForeignFile): Promise<unknown> {
  const text = decodeText(file);
  if (text.length > YAML_LENGTH_MAX) {
    throw importError(file, `it has more than ${YAML_LENGTH_MAX} characters`);
  }
  if (isNestedTooDeeply(text) || DEEP_BLOCK.test(text)) {
    throw importError(file, `it is nested more than ${NESTING_MAX} levels deep`);
  }
  const { inspectYaml, parseDocument } = await import("./inspect_yaml.ts");
  // The library compares each key with all others of its map, and words errors with a look at the whole text.
  const options = { merge: true, uniqueKeys: false, logLevel: "error", prettyErrors: false } as const;
  const document = parseDocument(text, options);
  const { problems: found, valueCount, aliasCount } = inspectYaml(document.contents);
  const errors = document.errors.map(({ message, pos: [offset] }) => ({ message: oneLine(message), offset }));
  const problems = [...errors, ...found];
  if (problems.length > 0) {
    throw importError(file, countErrors(Math.min(problems.length, PROBLEMS_MAX)), {
      text,
      problems: problems.slice(0, ERRORS_SHOWN),
    });
  }
  if (valueCount > VALUES_MAX) {
    throw importError(file, `its aliases make more than ${VALUES_MAX} values of it`);
  }
  if (aliasCount > ALIASES_MAX) throw importError(file, `it has more than ${ALIASES_MAX} aliases`);
  return document.toJS({ maxAliasCount: -1 });
}

/**
 * Parses YAML whose root is a mapping; `expects` describes the file in the hint.
 *
 * @throws {ConfigError} If it is something else.
 */
export async function parseMapping(file: ForeignFile, expects: string): Promise<Foreign> {
  const root = await parseYaml(file);
  if (isObject(root)) return new Foreign(root);
  throw importError(file, "it is not a mapping", { hint: `expected ${expects}` });
}

/** Returns whether nesting could overflow the stack of a parser. */
function isNestedTooDeeply(text: string): boolean {
  // Brackets count wherever they are, which is right for all but contrived texts.
  let depth = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth += bracket === "[" || bracket === "{" ? 1 : depth > 0 ? -1 : 0;
    if (depth > NESTING_MAX) return true;
  }
  return false;
}

/** Lists on one line, and indentation, which nest YAML without brackets. */
const DEEP_BLOCK = new RegExp(`(?:[-?:] ?){${NESTING_MAX}}|\\n {${10 * NESTING_MAX}}`);

/** More files are rejected: a link that leads back up makes files without end. */
const FILES_MAX = 10_000;
const DEPTH_MAX = 32;

/**
 * Reads the files that the config of another tool includes: each once, together at most as large as a config may be.
 * A relative path starts at the directory of the file that names it.
 */
export class IncludedFiles {
  readonly #files: Files;
  readonly #seen = new Set<string>();
  #bytesLeft: number;

  constructor(main: ForeignFile, files: Files) {
    this.#files = files;
    this.#bytesLeft = FOREIGN_BYTES_MAX - main.bytes.length;
    if (main.path !== null) this.#seen.add(main.path);
  }

  /** Returns the files that a path or pattern matches and that were not read before, or why they can't be read. */
  async matching(pattern: string, from: ForeignFile): Promise<readonly ForeignFile[] | string> {
    if (from.path === null) return "stdin has no directory: name the file";
    try {
      const directory = dirname(from.path);
      const { paths } = await findMatches(pattern, directory, this.#files);
      if (paths.length === 0) return "no such file";
      return await this.#readAll(paths.map((path) => normalize(absolutePath(path, directory))));
    } catch (error) {
      return reasonOf(error, pattern);
    }
  }

  /** Returns the files with an ending in a directory and the directories in it. */
  async below(
    directory: string,
    ending: string,
    from: ForeignFile,
  ): Promise<readonly ForeignFile[] | string> {
    if (from.path === null) return "stdin has no directory: name the file";
    const top = normalize(absolutePath(directory, dirname(from.path))).replace(/(?<=.)\/+$/, "");
    try {
      return await this.#readAll(await this.#list(top, ending, 0));
    } catch (error) {
      return reasonOf(error, top);
    }
  }

  async #list(directory: string, ending: string, depth: number): Promise<readonly string[]> {
    if (depth > DEPTH_MAX) {
      throw new RangeError(`its directories are nested more than ${DEPTH_MAX} levels deep`);
    }
    const found: string[] = [];
    for (const name of [...await this.#files.list(directory)].sort()) {
      const path = `${directory}/${name}`;
      if (name.endsWith(ending)) found.push(path);
      else if (!name.startsWith(".") && (await this.#files.stat(path)).kind === "directory") {
        for (const inner of await this.#list(path, ending, depth + 1)) found.push(inner);
      }
    }
    return found;
  }

  async #readAll(paths: readonly string[]): Promise<readonly ForeignFile[]> {
    const read: ForeignFile[] = [];
    for (const path of paths) {
      if (this.#seen.has(path)) continue;
      this.#seen.add(path);
      if (this.#seen.size > FILES_MAX) throw new RangeError(`more than ${FILES_MAX} files are included`);
      const { bytes } = await readRegularFile(path, { files: this.#files, bytesMax: this.#bytesLeft });
      this.#bytesLeft -= bytes.length;
      read.push({ label: path, path, bytes });
    }
    return read;
  }
}

function reasonOf(error: unknown, path: string): string {
  if (error instanceof Deno.errors.NotCapable) throw error;
  return error instanceof RangeError ? error.message : describeFileError(error, { path });
}
