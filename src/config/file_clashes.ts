import { basename, dirname, join, normalize } from "node:path";
import { COMPANIONS } from "../domain/stores.ts";
import type { Files } from "../domain/system.ts";
import { temporaryPathOf } from "../shared/regular_file.ts";
import { type FormattedConfig, visitFormattedValues } from "./formats.ts";
import { filesInPlaceholders } from "./placeholders.ts";
import {
  type ConfigPath,
  describePath,
  type PlacedProblem,
  type Problem,
  quoteValue,
  type Source,
} from "./problem.ts";
import { absolutePath } from "./source.ts";

export interface UsedFile {
  /** Absolute. */
  readonly file: string;
  /** Its description, such as `the lock file`. @default "the file" */
  readonly role?: string;
  /** The owner of the file: its path in the config, or a description. */
  readonly of?: ConfigPath | string;
  /** The included file that names it. @default the config itself */
  readonly source?: Source;
}

interface ClashOptions {
  /** Follows links; a path that can't be followed for lack of a permission is compared as written. */
  readonly files: Pick<Files, "realPath">;
  readonly label: string;
  place(problem: Problem): PlacedProblem;
}

/**
 * Returns a problem for each file that is replaced again and again although it, or its temporary file, is needed for
 * something else. Paths are compared with their links followed. The files are not quoted: a secret may be in them.
 */
export async function findFileClashes(
  replaced: readonly { readonly path: ConfigPath; readonly file: string | undefined }[],
  used: readonly UsedFile[],
  options: ClashOptions,
): Promise<readonly Problem[]> {
  const uses = new FileUses(options);
  for (const file of used) await uses.add(file);
  const problems: Problem[] = [];
  for (const { path, file } of replaced) {
    if (file === undefined) continue;
    const message = await uses.clashOf(file);
    if (message !== null) problems.push({ path, message });
    await uses.add({ file, of: path });
    await uses.add({ file: temporaryPathOf(file), role: "the temporary file", of: path });
  }
  return problems;
}

export class FileUses {
  readonly #options: ClashOptions;
  readonly #uses = new Map<string, UsedFile>();
  /** Many files are in few directories. */
  readonly #realPaths = new Map<string, Promise<string | null>>();

  constructor(options: ClashOptions) {
    this.#options = options;
  }

  async add(used: UsedFile): Promise<void> {
    const place = await this.#placeOf(used.file);
    for (const path of [place, await this.#realPath(used.file)]) {
      if (path !== null && !this.#uses.has(path)) this.#uses.set(path, used);
    }
  }

  /** Returns why a file can't be replaced through the temporary file alongside it; `null`: it can. */
  async clashOf(file: string): Promise<string | null> {
    const expected = "expected a file of its own because it is overwritten";
    const use = this.#uses.get(await this.#placeOf(file));
    if (use !== undefined) return `is ${this.#describe(use)}, ${expected}`;
    const temporary = this.#uses.get(await this.#placeOf(temporaryPathOf(file)));
    return temporary === undefined ? null : `is with .tmp added ${this.#describe(temporary)}, ${expected}`;
  }

  /** The name itself is replaced, regardless of its target; links among its directories are followed. */
  async #placeOf(path: string): Promise<string> {
    const directory = dirname(path);
    if (directory === path) return path;
    return join(await this.#realPath(directory) ?? await this.#placeOf(directory), basename(path));
  }

  /** `null` if it doesn't exist, or can't be read. */
  #realPath(path: string): Promise<string | null> {
    return this.#realPaths.getOrInsertComputed(path, () => this.#follow(path));
  }

  async #follow(path: string): Promise<string | null> {
    try {
      return await this.#options.files.realPath(path);
    } catch (error) {
      return error instanceof Deno.errors.NotCapable ? normalize(path) : null;
    }
  }

  #describe({ role = "the file", of, source }: UsedFile): string {
    if (of === undefined) return role;
    if (typeof of === "string") return `${role} of ${of}`;
    const { label } = source ?? this.#options;
    const { line, column } = this.#options.place({ path: of, message: "", ...source && { source } });
    return `${role} of ${quoteValue(describePath(of))} (${label}:${line}:${column})`;
  }
}

export function stateFiles(file: string, of: ConfigPath | string): readonly UsedFile[] {
  return [
    { file, of },
    ...COMPANIONS.map((ending) => ({ file: file + ending, role: `the ${ending} file`, of })),
    { file: `${file}.lock`, role: "the lock file", of },
  ];
}

/** The files that one file of a config names to read or to run: secrets, commands, and those for TLS. */
export function readFiles(
  config: FormattedConfig,
  { source, commands }: { readonly source: Source; readonly commands: ReadonlyMap<string, string> },
): readonly UsedFile[] {
  const { directory } = source;
  const used: UsedFile[] = filesInPlaceholders(config.written).map(({ path, file }) => (
    { file: absolutePath(file, directory), role: "the secret file", of: path, source }
  ));
  visitFormattedValues(config, ({ path, format, value }) => {
    const text = String(value);
    // Files that are only checked or touched may be overwritten: a check of the HTML report's age is useful.
    const isRead = format === "input_file";
    const command = format !== "command" ? undefined : text.includes("/") ? text : commands.get(text);
    const file = isRead ? text : command;
    if (file !== undefined) used.push({ file: absolutePath(file, directory), of: path, source });
  });
  return used;
}
