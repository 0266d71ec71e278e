import type { PermissionClass } from "../domain/runtime_permissions.ts";
import { truncate } from "../shared/truncate.ts";
import type { Source } from "./source_text.ts";

/** Where in the config something is: member names and array indexes from the top on. */
export type ConfigPath = readonly (string | number)[];

/** An error in a config, or what deserves a warning, at its place. */
export interface Problem {
  /** The value it is about; empty for the config as a whole. */
  readonly path: ConfigPath;
  /** What is wrong and what is accepted; no final period. */
  readonly message: string;
  /** Which part of the member is meant. @default "value" */
  readonly at?: "name" | "value";
  /** The place itself, where there is no member to name: characters from the start of the text. */
  readonly offset?: number;
  /** What to do next, where the message alone does not tell. */
  readonly hint?: string;
  /**
   * Whether this machine lacks something that the config names: a variable, a file, a command. The config is not
   * refused; only what the value belongs to cannot run. @default false
   */
  readonly isLack?: boolean;
  readonly denied?: PermissionClass;
  /** The file it is in; without it: the one that holds the check it is about, else the config itself. */
  readonly source?: Source;
}

/** A problem with its place in the text. */
export interface PlacedProblem {
  /** As {@linkcode describePath} writes it. */
  readonly path: string;
  /** What is wrong and what is accepted; no final period. */
  readonly message: string;
  /** What to do next; `null` where the message tells. */
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
  /** Empty when the config could not even be read; then the message says why. */
  readonly problems: readonly PlacedProblem[];
  /** The config itself, where problems are unless they say otherwise; `null` when it could not be read. */
  readonly source: Source | null;
  /** What to do next; `null` where the message, or each problem, tells. */
  readonly hint: string | null;

  /** The message names the action and the config and says what is wrong with it; no final period. */
  constructor(
    message: string,
    options: {
      readonly problems?: readonly PlacedProblem[];
      readonly source?: Source;
      readonly hint?: string;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.problems = options.problems ?? [];
    this.source = options.source ?? null;
    this.hint = options.hint ?? null;
  }
}

/**
 * After so many of one sort the rest is not looked for. Nobody mends more at once, and to tell 100,000 from each other
 * would take longer than to read them.
 */
export const PROBLEMS_MAX = 1000;

/** Returns the number of errors in words. */
export function countErrors(count: number): string {
  if (count === 1) return "1 error";
  return `${count} errors${count < PROBLEMS_MAX ? "" : " or more"}`;
}

/**
 * Joins the problems that several stages found, the earliest stage first. What a later stage says of a value that
 * an earlier one refused already is a consequence, and left out. What the machine lacks of a value hides no error in it.
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

/** What is longer is cut in messages. */
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
