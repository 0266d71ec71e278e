import type { System } from "../domain/system.ts";

/** One option of a command. */
export interface OptionSpec {
  /** Without the dashes. */
  readonly name: string;
  /** One letter. */
  readonly short?: string;
  /** What the help calls the option's value, such as `PATH`; an option without it is a flag. */
  readonly value?: string;
  readonly description: string;
}

/** What the user typed, taken apart. */
export interface Invocation {
  /** Values by option name; a flag that was given is `true`. */
  readonly options: ReadonlyMap<string, string | true>;
  /** What is left: names, paths. */
  readonly operands: readonly string[];
}

/** One command of the program. Its help is made from this. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  /** Behind the command's name in the usage line. */
  readonly operands: string;
  /** How many operands there may be. */
  readonly operandsMax: number;
  readonly description: string;
  readonly options: readonly OptionSpec[];
  readonly examples: readonly (readonly [line: string, meaning: string])[];
  /** Does the work; the answer is the exit code. */
  run(invocation: Invocation, system: System): Promise<number>;
}

/** Thrown when what the user typed makes no sense. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly hint: string | null;

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
  return value === true ? undefined : value;
}
