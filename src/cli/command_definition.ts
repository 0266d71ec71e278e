import type { PermissionClass } from "../domain/runtime_permissions.ts";
import { didYouMean } from "../config/nearest.ts";
import type { System } from "../domain/system.ts";
import { type Condition, CONDITION_CODES, highestSeverity, severity } from "../domain/condition.ts";
import { parseArgs } from "node:util";

export interface OptionSpec {
  /** Without the dashes. */
  readonly name: string;
  readonly short?: string;
  /** The name of the option's value in the help, such as `PATH`; an option without it is a flag. */
  readonly value?: string;
  /** Whether it may be given several times; its values are then a list. @default false */
  readonly repeatable?: boolean;
  /** All accepted values, if the list is closed; completions offer them. */
  readonly choices?: readonly string[];
  /** The part of the config that its value names, for completions. */
  readonly names?: Exclude<ConfigNames, "checks">;
  /** Its description in the help; lower case, no final period. */
  readonly description: string;
}

export type ConfigNames = "checks" | "channels" | "tags";

type OptionValue = string | true | readonly string[];

const REPORT_FORMATS = ["pretty", "json"] as const;
export type ReportFormat = typeof REPORT_FORMATS[number];

export class Invocation {
  /** Values by option name; a flag that was given is `true`, and an option that is repeatable has a list. */
  readonly options: ReadonlyMap<string, OptionValue>;
  readonly operands: readonly string[];
  /** The command line after `--`, for commands that run one; absent without `--`. */
  readonly trailing: readonly string[] | undefined;
  /** The error before `--`: the command that follows has to run in spite of it. */
  readonly usageError: UsageError | undefined;

  constructor(given: Partial<Pick<Invocation, "options" | "operands" | "trailing" | "usageError">>) {
    this.options = given.options ?? new Map();
    this.operands = given.operands ?? [];
    this.trailing = given.trailing;
    this.usageError = given.usageError;
  }

  has(name: string): boolean {
    return this.options.has(name);
  }

  text(name: string): string | undefined {
    const value = this.options.get(name);
    return typeof value === "string" ? value : undefined;
  }

  /** The values of an option that is repeatable, in the order in which they were given. */
  texts(name: string): readonly string[] {
    const value = this.options.get(name);
    return Array.isArray(value) ? value : [];
  }

  /** @throws {UsageError} If it is none of the choices. */
  choice<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    const message = `--${name} is "${value}", expected one of ${choices.join(", ")}`;
    throw new UsageError(message, didYouMean(value, choices));
  }

  /** @throws {UsageError} If it is not a whole number of 1 or more. */
  count(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (/^[1-9]\d{0,5}$/.test(value)) return Number(value);
    throw new UsageError(`--${name} is "${value}", expected a whole number of 1 or more`);
  }

  reportFormat(): ReportFormat {
    return this.choice("format", REPORT_FORMATS) ?? "pretty";
  }
}

const COMMAND_GROUPS = {
  start: "Start",
  run: "Run",
  look: "Look",
  quiet: "Quiet",
  set_up: "Set up and test",
  plumbing: "Plumbing",
} as const;

export interface Command {
  /** The word that calls it; unique. */
  readonly name: string;
  readonly group: keyof typeof COMMAND_GROUPS;
  /** For the list of commands; lower case, no final period. */
  readonly summary: string;
  /**
   * Behind the command's name in the usage line: each word is one operand, with `…` any number. Lower-case words stand for
   * themselves, `NAME` for the name of a check, others for a path. @default none
   */
  readonly operands?: string;
  /** The accepted first operands. @default the lower-case words of the usage line */
  readonly firstOperands?: readonly string[];
  /** Whether another command line may follow `--`. @default false */
  readonly takesCommand?: boolean;
  readonly description: string;
  /** The page that describes it, below `docs/`. */
  readonly page: string;
  /** Its own; {@linkcode COMMON_OPTIONS} are added to them. */
  readonly options: readonly OptionSpec[];
  /** Options that it does not have, with the command to use instead. @default none */
  readonly replaced?: Readonly<Record<string, string>>;
  readonly examples: readonly (readonly [line: string, meaning: string])[];
  /**
   * The permission classes that it uses with any config; the others are dropped before it runs. Without it, the command
   * itself drops the classes that the config does not need.
   */
  readonly uses?: readonly PermissionClass[];
  /** Its exit codes, in addition to those of every command. */
  readonly endings: readonly Ending[];
  run(invocation: Invocation, system: System): Promise<number>;
}

/** The commands by the headings of their groups, in their order. */
export function grouped(commands: readonly Command[]): ReadonlyMap<string, readonly Command[]> {
  return Map.groupBy(commands, ({ group }) => COMMAND_GROUPS[group]);
}

/** Returns the most operands of a command: those of the first form in its usage line, before another command line. */
export function operandsMax({ operands = "" }: Pick<Command, "operands">): number {
  const [first = ""] = operands.split(/ \| | \[--/);
  return first.includes("…") ? Infinity : first.split(" ").filter((word) => word !== "").length;
}

export class UsageError extends Error {
  override readonly name = "UsageError";
  /** The fix; `null` if the message has it. */
  readonly hint: string | null;

  /** Neither text ends with a period; the command line puts its own words before them. */
  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint ?? null;
  }
}

/** Makes an option of its usage, such as `-o, --output FILE`. */
export function option(
  usage: string,
  description: string,
  more: Pick<OptionSpec, "choices" | "names" | "repeatable"> = {},
): OptionSpec {
  const [, short, name = "", value] = /^(?:-(\w), )?--([\w-]+)(?: (.+))?$/.exec(usage) ?? [];
  return {
    name,
    description,
    ...short !== undefined && { short },
    ...value !== undefined && { value },
    ...more,
  };
}

/** The option that chooses a format; without a value, the first one. */
export function formatOption(choices: readonly string[], meaning?: string): OptionSpec {
  const listed = `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`;
  return option("--format FORMAT", `${meaning ?? listed} (default: ${choices[0]})`, { choices });
}

export const COMMON_OPTIONS: readonly OptionSpec[] = [
  option("--no-color", "output without color (also: the variable NO_COLOR)"),
  option("-h, --help", "this help"),
  option("-V, --version", "version of monitor and its runtime"),
];

export const OPTION = {
  config: option(
    "-c, --config PATH",
    "config file, or - for stdin (default: $MONITOR_CONFIG, else monitor.jsonc or monitor.json in ., " +
      "$XDG_CONFIG_HOME/monitor or /etc/monitor)",
  ),
  state: option(
    "--state PATH",
    'state file, postgres:// URL, or none (default: "state" of the config, else a file named after the config in ' +
      "$STATE_DIRECTORY, $XDG_STATE_HOME/monitor or ~/.local/state/monitor)",
  ),
  tag: option("--tag TAG", "only checks with this tag (repeatable: with any of the tags)", {
    repeatable: true,
    names: "tags",
  }),
  format: formatOption(REPORT_FORMATS),
} as const;

/** Returns a hint for a word that names no check but resembles a config file; `undefined` for other words. */
export function hintForFile(word: string): string | undefined {
  if (!/\.(jsonc?|json5|ya?ml|toml|conf|cfg)$/i.test(word)) return undefined;
  return `name the config file with: -c ${word}`;
}

/** The exit codes in addition to the conditions 0 to 3; from 64 on they are those of BSD's sysexits. */
export const EXIT = {
  ok: 0,
  nothing: 1,
  differs: 1,
  declined: 1,
  usage: 64,
  undelivered: 69,
  bug: 70,
  input_output: 74,
  held: 75,
  permission: 77,
  config: 78,
  interrupted: 130,
  terminated: 143,
} as const;

const CONDITIONS_MEANING = "ok, warning, critical, unknown";

/** Every way to end, in the order of the codes: the words of a command's help. */
const ENDINGS = {
  done: ["0", "success"],
  nothing: ["1", "nothing imported"],
  nothing_stored: ["1", "no result is stored"],
  proven: ["1", "a check is not ok, or would notice too few faults"],
  differs: ["1", "messages that are not as expected"],
  declined: ["1", "config not reloaded: declined at the prompt"],
  command: ["any", "exit code of COMMAND (126: not executable, 127: not found, 128 + signal number)"],
  observed: ["0, 1, 2, 3", `highest severity, with --once: ${CONDITIONS_MEANING}`],
  ran: ["0, 1, 2, 3", `highest severity of the results: ${CONDITIONS_MEANING}`],
  tried: ["0, 1, 2, 3", `0, or with --dry-run the highest severity: ${CONDITIONS_MEANING}`],
  confirmed: ["0, 1, 2, 3", `highest confirmed severity: ${CONDITIONS_MEANING}`],
  usage: ["64", "usage error"],
  name: ["64", "usage error, or unknown or inactive check"],
  undelivered: ["69", "undelivered notification or report, if it would otherwise be 0"],
  bug: ["70", "bug in monitor"],
  output: ["74", "output not writable"],
  state: ["74", "state not readable or writable, or output not writable"],
  held: ["75", "state in use by another monitor"],
  permission: ["77", "missing permission"],
  config: ["78", "invalid or unreadable config"],
  interrupted: ["130, 143", "SIGINT or SIGTERM before every check had a result"],
} satisfies Readonly<Record<string, readonly [codes: string, meaning: string]>>;

type Ending = keyof typeof ENDINGS;

/** The descriptions of exit codes in the help. A usage error, a bug and a full disk are possible for every command. */
export function exitCodeHelp(
  endings: readonly Ending[],
): readonly (readonly [codes: string, meaning: string])[] {
  const all: readonly Ending[] = [
    ...endings,
    ...(endings.includes("name") ? [] : ["usage" as const]),
    ...(endings.includes("state") ? [] : ["output" as const]),
    "bug",
  ];
  const names = Object.keys(ENDINGS) as readonly Ending[];
  return names.filter((name) => all.includes(name)).map((name) => ENDINGS[name]);
}

export const EXIT_CODE_HELP: readonly (readonly [codes: string, meaning: string])[] = [
  ["0, 1, 2, 3", `highest severity of check --once and status: ${CONDITIONS_MEANING}`],
  ...exitCodeHelp(["name", "undelivered", "state", "held", "permission", "config", "interrupted"]),
];

export const FAIL_ON_CONDITIONS = ["unknown", "warning", "critical"] as const;

/** The lowest severity that fails a run. `unknown` always does: there is no data. */
export type FailOn = typeof FAIL_ON_CONDITIONS[number];

export function failRule(failOn: FailOn): (condition: Condition) => boolean {
  return (condition) =>
    condition === "unknown" || (condition !== "ok" && severity(condition) >= severity(failOn));
}

export function exitCodeOf(conditions: readonly Condition[], fails: ReturnType<typeof failRule>): number {
  return CONDITION_CODES[highestSeverity(conditions.filter(fails))];
}

/** Returns the command's name in the arguments and the other words; `null` for the name if there is none. */
export function splitCommand(
  args: readonly string[],
  commands: readonly Command[],
): { readonly name: string | null; readonly rest: readonly string[] } {
  const valued = commands.flatMap(({ options }) => options).filter(({ value }) => value !== undefined)
    .flatMap(({ name, short }) => [`--${name}`, ...short === undefined ? [] : [`-${short}`]]);
  const position = args.findIndex((argument, index) => {
    const before = args[index - 1];
    return !argument.startsWith("-") && (before === undefined || !valued.includes(before));
  });
  if (position < 0) return { name: null, rest: args };
  return { name: args[position] ?? null, rest: args.toSpliced(position, 1) };
}

/**
 * Parses a command's arguments. Another command line behind `--` is to run in spite of errors before it, so that error
 * is returned.
 *
 * @throws {UsageError} If there is an unknown option or operand, a duplicate option, or nothing behind `--`.
 */
export function parseInvocation(command: Command, args: readonly string[]): Invocation {
  const end = args.indexOf("--");
  if (command.takesCommand !== true || end < 0) return parseOwn(command, args);
  const trailing = args.slice(end + 1);
  if (trailing.length === 0) {
    throw new UsageError("missing command after --", `see: monitor ${command.name} --help`);
  }
  try {
    return new Invocation({ ...parseOwn(command, args.slice(0, end)), trailing });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return new Invocation({ trailing, usageError: error });
  }
}

function parseOwn(command: Command, args: readonly string[]): Invocation {
  const specs = [...command.options, ...COMMON_OPTIONS];
  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: Object.fromEntries(specs.map((spec) => [spec.name, {
      type: spec.value === undefined ? "boolean" as const : "string" as const,
      ...(spec.short !== undefined && { short: spec.short }),
    }])),
  });
  const options = new Map<string, string | true | readonly string[]>();
  const operands: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") operands.push(token.value);
    if (token.kind !== "option") continue;
    const spec = specs.find((candidate) => candidate.name === token.name);
    if (spec === undefined) {
      const word = args[token.index] ?? "";
      // One hyphen for two: `-once` is read as -o -n -c -e.
      const isLong = /^-[a-z]{2}/.test(word) && specs.some(({ name }) => name === word.slice(1));
      throw unknownOption(isLong ? word : token.rawName, specs, command);
    }
    const value = readValue(spec, token.value);
    const earlier = options.get(spec.name);
    if (spec.repeatable && typeof value === "string") {
      options.set(spec.name, [...(Array.isArray(earlier) ? earlier : []), value]);
      continue;
    }
    if (earlier !== undefined) throw new UsageError(`--${spec.name} is specified more than once`);
    options.set(spec.name, value);
  }
  const unexpected = operands[operandsMax(command)];
  if (unexpected !== undefined) {
    const hint = command.options.includes(OPTION.config) ? hintForFile(unexpected) : undefined;
    const problem = `unexpected argument "${unexpected}" after "${command.name}"`;
    throw new UsageError(problem, hint ?? `see: monitor ${command.name} --help`);
  }
  return new Invocation({ options, operands });
}

function readValue(spec: OptionSpec, value: string | undefined): string | true {
  if (spec.value === undefined) {
    if (value !== undefined) throw new UsageError(`--${spec.name} accepts no value`);
    return true;
  }
  if (value === undefined) throw new UsageError(`--${spec.name} needs a value: --${spec.name} ${spec.value}`);
  return value;
}

function unknownOption(written: string, specs: readonly OptionSpec[], command: Command): UsageError {
  const replacement = command.replaced?.[written];
  const long = specs.find(({ name }) => written === `-${name}`);
  const meant = didYouMean(long ? `--${long.name}` : written, specs.map(({ name }) => `--${name}`));
  const hint = replacement === undefined ? meant : `use: ${replacement}`;
  const problem = `unknown option "${written}" of "${command.name}"`;
  return new UsageError(problem, hint ?? `see: monitor ${command.name} --help`);
}
