import { positionOf } from "../config/positions.ts";
import { ConfigError, countErrors, type Problem, PROBLEMS_MAX } from "../config/problem.ts";
import { describeFileError, messageOf } from "../shared/describe_error.ts";
import { oneLine } from "../shared/text.ts";
import { findMatches } from "../config/config_file.ts";
import { absolutePath } from "../config/source.ts";
import type { Files } from "../domain/system.ts";
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

export function importError(
  { label }: Pick<ForeignFile, "label">,
  reason: string,
  { text, problems = [], hint }: {
    readonly text?: string;
    readonly problems?: readonly Required<Pick<Problem, "message" | "offset">>[];
    readonly hint?: string;
  } = {},
): ConfigError {
  return new ConfigError(`cannot import "${label}": ${reason}`, {
    hint,
    source: text === undefined ? null : { label, path: null, directory: "/", text, mode: null },
    problems: problems.slice(0, PROBLEMS_MAX).map(({ message, offset }) => (
      { path: "", message, hint: null, ...positionOf(text ?? "", offset), offset }
    )),
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
    const count = countErrors(Math.min(problems.length, PROBLEMS_MAX));
    throw importError(file, count, { text, problems: problems.slice(0, ERRORS_SHOWN) });
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

  /** Returns the files with an ending in a directory and the directories in it, or why they can't be read. */
  async below(directory: string, ending: string, from: ForeignFile): ReturnType<IncludedFiles["matching"]> {
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

/** Reads values of a foreign config, which may be of any type. A value of another type counts as missing. */

type Fields = Readonly<Record<string, unknown>>;

/** An object with names of any text. It has the fields that it has itself, never inherited ones. */
export class Foreign {
  readonly #fields: Fields;
  readonly #read = new Set<string>();

  constructor(fields: Fields) {
    this.#fields = fields;
  }

  /** Wraps an object; anything else has no fields. */
  static of(value: unknown): Foreign {
    return new Foreign(isObject(value) ? value : {});
  }

  get(name: string): unknown {
    this.#read.add(name);
    return Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  get entries(): readonly (readonly [name: string, value: unknown])[] {
    return Object.entries(this.#fields);
  }

  /** The names of fields that no other method was asked for. */
  get unread(): readonly string[] {
    return Object.keys(this.#fields).filter((name) => !this.#read.has(name));
  }

  text(name: string): string | undefined {
    return asText(this.get(name));
  }

  /** Returns a text as it is, such as a body; `undefined` if it is empty. */
  body(name: string): string | undefined {
    const value = this.get(name);
    return typeof value === "string" && value !== "" ? value : undefined;
  }

  /** Returns a finite number, also one that is written as a text. */
  number(name: string): number | undefined {
    const value = this.get(name);
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    return typeof number === "number" && Number.isFinite(number) ? number : undefined;
  }

  /** Returns a boolean; SQL and forms write 0 and 1. */
  boolean(name: string): boolean | undefined {
    const value = this.get(name);
    if (value === 1 || value === "1" || value === "true") return true;
    if (value === 0 || value === "0" || value === "false") return false;
    return typeof value === "boolean" ? value : undefined;
  }

  /** Returns the fields as texts; one of another type is empty. */
  toTexts(): Record<string, string> {
    return Object.fromEntries(this.entries.map(([name, value]) => [name, asText(value) ?? ""]));
  }

  /** Returns every text of a list. */
  texts(name: string): readonly string[] {
    return asTexts(this.get(name));
  }

  object(name: string): Foreign {
    return Foreign.of(this.get(name));
  }

  objects(name: string): readonly Foreign[] {
    return asList(this.get(name)).map(Foreign.of);
  }

  /** Returns a copy with further fields, which replace its own. */
  with(fields: Fields | Foreign): Foreign {
    return new Foreign({ ...this.#fields, ...fields instanceof Foreign ? fields.#fields : fields });
  }

  /** Returns a copy with other texts. */
  mapTexts(change: (text: string) => string): Foreign {
    return Foreign.of(mapTexts(this.#fields, change));
  }

  /** Returns a copy in which no text becomes a placeholder. */
  escapePlaceholders(): Foreign {
    return Foreign.of(escapePlaceholders(this.#fields));
  }
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a list; a single value is a list of one. */
export function asList(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** Returns a text without blanks at its ends; numbers and booleans are texts too. */
export function asText(value: unknown): string | undefined {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}

/** A word as a value of a key: the validation of the draft removes checks and channels with another one. */
export function asWord<Word extends string | undefined>(text: string): Word {
  return text as Word;
}

export function asTexts(value: unknown): readonly string[] {
  return asList(value).flatMap((item) => asText(item) ?? []);
}

/** A copy in which every literal `${` is escaped, so that no text of the source becomes a placeholder. */
export function escapePlaceholders(value: unknown): unknown {
  return mapTexts(value, (text) => text.replaceAll("${", () => "$${"));
}

/** A copy with other texts; names of fields stay. */
function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapTexts(item, change)]));
}
