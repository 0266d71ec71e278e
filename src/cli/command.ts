import type { PermissionClass } from "../domain/needs.ts";
import type { System } from "../domain/system.ts";

/** One option of a command. */
export interface OptionSpec {
  /** Without the dashes. */
  readonly name: string;
  /** One letter. */
  readonly short?: string;
  /** What the help calls the option's value, such as `PATH`; an option without it is a flag. */
  readonly value?: string;
  /** Whether it may be given several times; its values are then a list. @default false */
  readonly repeatable?: boolean;
  /** What the help says of it; lower case, no final period. */
  readonly description: string;
}

/** What the user typed, taken apart. */
export interface Invocation {
  /** Values by option name; a flag that was given is `true`, and an option that is repeatable has a list. */
  readonly options: ReadonlyMap<string, OptionValue>;
  /** What is left: names, paths. */
  readonly operands: readonly string[];
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
  /** Whole sentences for the top of its own help, which wraps them. */
  readonly description: string;
  /** Its own; {@linkcode COMMON_OPTIONS} are added to them. */
  readonly options: readonly OptionSpec[];
  /** Whole command lines for its help, each with what it does. */
  readonly examples: readonly (readonly [line: string, meaning: string])[];
  /**
   * The classes of permissions that it uses, whatever the document says; the others are given up before it runs.
   * Without it, the command itself gives up what the document does not need.
   */
  readonly uses?: readonly PermissionClass[];
  /** Does the work; the answer is the exit code. */
  run(invocation: Invocation, system: System): Promise<number>;
}

/** Thrown when what the user typed makes no sense. */
export class UsageError extends Error {
  /** The name of the class. */
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
  { name: "no-color", description: "no colour, even on a terminal (also: the variable NO_COLOR)" },
  { name: "help", short: "h", description: "show help" },
  { name: "version", short: "V", description: "show the version" },
];

/** The option that says which document is meant. */
export const CONFIG_OPTION: OptionSpec = {
  name: "config",
  short: "c",
  value: "PATH",
  description: "the document; - reads stdin (default: $MONITOR_CONFIG, ./monitor.jsonc, ./monitor.json, " +
    "then $XDG_CONFIG_HOME/monitor/ and /etc/monitor/)",
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
