import type { PermissionClass } from "../domain/runtime_permissions.ts";
import { nearest } from "../config/nearest.ts";
import type { System } from "../domain/system.ts";
import type { Ending } from "./exit_code.ts";

export interface OptionSpec {
  /** Without the dashes. */
  readonly name: string;
  readonly short?: string;
  /** What the help calls the option's value, such as `PATH`; an option without it is a flag. */
  readonly value?: string;
  /** Whether it may be given several times; its values are then a list. @default false */
  readonly repeatable?: boolean;
  /** Every value there is, where the list is closed: completions offer them, and nothing else is accepted. */
  readonly choices?: readonly string[];
  /** What its value names in the config, for completions. */
  readonly names?: Exclude<ConfigNames, "checks">;
  /** What the help says of it; lower case, no final period. */
  readonly description: string;
}

/** Which names of the config completions offer. */
export type ConfigNames = "checks" | "channels" | "tags";

/** What an operand is, for completions: the name of a check of the config, a path, or one of some words and then paths. */
type OperandKind = "check" | "path" | readonly string[];

/** What the user typed, taken apart. */
export interface Invocation {
  /** Values by option name; a flag that was given is `true`, and an option that is repeatable has a list. */
  readonly options: ReadonlyMap<string, OptionValue>;
  readonly operands: readonly string[];
  /** What follows `--`, where the command takes another one's command line; absent without `--`. */
  readonly trailing?: readonly string[];
  /** What is wrong before `--`: the command that follows is to run all the same. */
  readonly usageError?: UsageError;
}

/** What was given for an option. */
export type OptionValue = string | true | readonly string[];

/** One command of the program. Its help is made from this. */
export interface Command {
  /** The word that calls it; unique. */
  readonly name: string;
  /** For the list of commands; lower case, no final period. */
  readonly summary: string;
  /** Behind the command's name in the usage line. */
  readonly operands: string;
  /** How many operands there may be. */
  readonly operandsMax: number;
  /** What completions offer for an operand; without it nothing. */
  readonly operandKind?: OperandKind;
  /** Whether a command line of somebody else may follow `--`, whose options are none of ours. @default false */
  readonly takesCommand?: boolean;
  readonly description: string;
  /** The page that describes it, below `docs/`. */
  readonly page: string;
  /** Its own; {@linkcode COMMON_OPTIONS} are added to them. */
  readonly options: readonly OptionSpec[];
  /** Options that it does not have, with the command to use instead. @default none */
  readonly replaced?: Readonly<Record<string, string>>;
  /** Whole command lines for its help, each with what it does. */
  readonly examples: readonly (readonly [line: string, meaning: string])[];
  /**
   * The classes of permissions that it uses, whatever the config says; the others are given up before it runs.
   * Without it, the command itself gives up what the config does not need.
   */
  readonly uses?: readonly PermissionClass[];
  /** How it may end, beside what may end every command. */
  readonly endings: readonly Ending[];
  /** Does the work; the answer is the exit code. */
  run(invocation: Invocation, system: System): Promise<number>;
}

/** Thrown when what the user typed makes no sense. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  /** What to do instead; `null` where the message says all. */
  readonly hint: string | null;

  /** Neither text ends with a period; the command line puts its own words before them. */
  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint ?? null;
  }
}

/** The options that every command takes. */
export const COMMON_OPTIONS: readonly OptionSpec[] = [
  { name: "no-color", description: "output without color (also: the variable NO_COLOR)" },
  { name: "help", short: "h", description: "this help" },
  { name: "version", short: "V", description: "version of monitor and its runtime" },
];

/** The option that says which config is meant. */
export const CONFIG_OPTION: OptionSpec = {
  name: "config",
  short: "c",
  value: "PATH",
  description:
    "config file, or - for stdin (default: $MONITOR_CONFIG, else monitor.jsonc or monitor.json in ., " +
    "$XDG_CONFIG_HOME/monitor or /etc/monitor)",
};

/** What to do about a word that names no check but looks like a config file; `undefined` for other words. */
export function hintForFile(word: string): string | undefined {
  if (!/\.(jsonc?|json5|ya?ml|toml|conf|cfg)$/i.test(word)) return undefined;
  return `name the config file with: -c ${word}`;
}

/** The formats of a command that tells people or programs of the kept state. */
export const REPORT_FORMATS = ["pretty", "json"] as const;

/** The option that chooses one of {@linkcode REPORT_FORMATS}. */
export const REPORT_FORMAT_OPTION: OptionSpec = {
  name: "format",
  value: "FORMAT",
  choices: REPORT_FORMATS,
  description: "pretty or json (default: pretty)",
};

/** The value of an option, if it was given. */
export function optionValue(invocation: Invocation, name: string): string | undefined {
  const value = invocation.options.get(name);
  return typeof value === "string" ? value : undefined;
}

/** The values of an option that is repeatable, in the order in which they were given. */
export function optionValues(invocation: Invocation, name: string): readonly string[] {
  const value = invocation.options.get(name);
  return Array.isArray(value) ? value : [];
}

/**
 * The value of an option that takes one of some words, if it was given.
 *
 * @throws {UsageError} If it is another one.
 */
export function optionChoice<Choice extends string>(
  invocation: Invocation,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const value = optionValue(invocation, name);
  if (value === undefined) return undefined;
  const found = choices.find((choice) => choice === value);
  if (found !== undefined) return found;
  const meant = nearest(value, choices);
  throw new UsageError(
    `--${name} is "${value}", expected one of ${choices.join(", ")}`,
    meant && `did you mean "${meant}"?`,
  );
}
