import type { PermissionClass } from "../domain/runtime_permissions.ts";
import { truncate } from "../shared/text.ts";

export type ConfigPath = readonly (string | number)[];

export interface Problem {
  /** The value it is about; empty for the config as a whole. */
  readonly path: ConfigPath;
  /** The error and the accepted values, without a final period. */
  readonly message: string;
  /** Whether key or value is meant. @default "value" */
  readonly at?: "name" | "value";
  /** The position itself if there is no key to name: characters from the start of the text. */
  readonly offset?: number;
  /** The fix, if it isn't in the message. */
  readonly hint?: string | undefined;
  /**
   * Whether this machine lacks something that the config names: a variable, a file, a command. The config is accepted;
   * only the check or channel with the value can't run. @default false
   */
  readonly isLack?: boolean;
  readonly denied?: PermissionClass;
  /** The file of the problem; absent: the file of its check, else the config itself. */
  readonly source?: Source;
}

export interface PlacedProblem extends Pick<Problem, "message"> {
  /** As {@linkcode describePath} writes it. */
  readonly path: string;
  readonly hint: string | null;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 code units as editors count. */
  readonly column: number;
  readonly offset: number;
  /** The included file it is in; absent for the config itself. */
  readonly source?: Source;
}

/** Thrown when a config cannot be used; carries every error that was found, in the text's order. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  /** Empty if the config could not be read; then the message has the reason. */
  readonly problems: readonly PlacedProblem[];
  /** The config itself, for errors without another source; `null` if it could not be read. */
  readonly source: Source | null;
  /** The fix; `null` if the message or each error has it. */
  readonly hint: string | null;

  constructor(
    message: string,
    { problems = [], source = null, hint, cause }: {
      readonly problems?: readonly PlacedProblem[];
      readonly source?: Source | null;
      readonly hint?: string | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause });
    this.problems = problems;
    this.source = source;
    this.hint = hint ?? null;
  }
}

/** Of one sort. No user fixes more at once, and distinguishing 100,000 would take longer than parsing them. */
export const PROBLEMS_MAX = 1000;

export function countErrors(count: number): string {
  if (count === 1) return "1 error";
  return `${count} errors${count < PROBLEMS_MAX ? "" : " or more"}`;
}

/**
 * Joins the errors of several validation steps, the earliest step first. If a value was rejected by an earlier one,
 * later errors of it are consequences and dropped. A missing requirement of the machine hides no error of its value.
 */
export function joinProblems(stages: readonly (readonly Problem[])[]): readonly Problem[] {
  const joined: Problem[] = [];
  const refused = new Set<string>();
  const lacking = new Set<string>();
  const isKnown = ({ path, isLack = false }: Problem): boolean => {
    if (refused.size + lacking.size === 0) return false;
    const key = JSON.stringify(path);
    return refused.has(key) || isLack && lacking.has(key);
  };
  for (const stage of stages) {
    for (const problem of stage) if (!isKnown(problem)) joined.push(problem);
    for (const { path, at = "value", offset, isLack = false } of stage) {
      if (at === "value" && offset === undefined) (isLack ? lacking : refused).add(JSON.stringify(path));
    }
  }
  return joined;
}

const QUOTED_LENGTH_MAX = 80;
const PLAIN_NAME = /^[A-Za-z_$][\w$-]*$/;

/** A path as people write it: `checks.web.parameters`, `checks["my site"].notifications[0]`; empty at the top. */
export function describePath(path: ConfigPath): string {
  let text = "";
  for (const segment of path) {
    if (typeof segment === "number") text += `[${segment}]`;
    else if (segment.length > QUOTED_LENGTH_MAX || !PLAIN_NAME.test(segment)) {
      text += `[${quoteValue(segment)}]`;
    } else text += text === "" ? segment : `.${segment}`;
  }
  return text;
}

/** A value of the config as it is shown in a message: JSON, on one line, shortened. */
export function quoteValue(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value !== "string") return String(value);
  return JSON.stringify(truncate(value, QUOTED_LENGTH_MAX));
}

export interface Source {
  /** The name in messages: the path as given, or `<stdin>`. */
  readonly label: string;
  /** Absolute path; `null` for standard input. */
  readonly path: string | null;
  /** The directory that relative paths start from, absolute. */
  readonly directory: string;
  /** Decoded from UTF-8, without a byte-order mark. */
  readonly text: string;
  /** Permission bits of the file; `null` where there are none. */
  readonly mode: number | null;
}

/** Problems without those that repeat one of another check from the same place. */
export function withoutRepeats(
  problems: readonly Problem[],
  templates: ReadonlyMap<string, string>,
): readonly Problem[] {
  if (templates.size === 0) return problems;
  const seen = new Set<string>();
  return problems.filter(({ path, message, source }) => {
    const key = JSON.stringify([templatePath(path, templates), message, source?.label]);
    return !seen.has(key) && seen.add(key);
  });
}

/** Maps a path of an expanded config to the one in its file. */
export function templatePath(path: ConfigPath, templates: ReadonlyMap<string, string>): ConfigPath {
  const [member, name, ...rest] = path;
  const template = member === "checks" && typeof name === "string" ? templates.get(name) : undefined;
  return template === undefined ? path : ["checks", template, ...rest];
}
