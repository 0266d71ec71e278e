import { positionOf } from "../config/positions.ts";
import { ConfigError, countErrors, PROBLEMS_MAX } from "../config/problem.ts";
import { messageOf } from "../shared/describe_error.ts";
import { oneLine } from "../shared/truncate.ts";
import { Foreign, isObject } from "./foreign_value.ts";

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

/**
 * Decodes a file.
 *
 * @throws {ConfigError} If it is not UTF-8.
 */
export function decodeText(file: ForeignFile): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(file.bytes);
  } catch {
    throw importError(file, "it is not a text in UTF-8");
  }
}

/**
 * Reads JSON.
 *
 * @throws {ConfigError} If it is malformed.
 */
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
/** Further errors are not listed. */
const ERRORS_SHOWN = 20;

/**
 * Parses one YAML 1.2 document, also with merge keys (`<<`).
 *
 * @throws {ConfigError} If it is malformed, or its aliases expand to too much.
 */
async function parseYaml(file: ForeignFile): Promise<unknown> {
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
