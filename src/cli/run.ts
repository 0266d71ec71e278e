import {
  type Command,
  EXIT,
  OPTION,
  parseInvocation,
  splitCommand,
  UsageError,
} from "./command_definition.ts";
import { nearest } from "../config/nearest.ts";
import { PERMISSION_CLASSES } from "../domain/runtime_permissions.ts";
import type { System, TextSink } from "../domain/system.ts";
import { answerAtOnce, PROGRAM_HELP, versionText } from "./answer_at_once.ts";
import { COMMAND_LOADERS, loadCommands } from "./command_loaders.ts";
import { describeFailure, typedPlaces } from "./failure.ts";
import { sinkLike, usesColor } from "./terminal.ts";
import { CONDITION_CODES } from "../domain/condition.ts";
import { messageOf } from "../shared/describe_error.ts";
import { truncate } from "../shared/text.ts";

export async function run(args: readonly string[], system: System): Promise<number> {
  if (!asksForPlugin(args)) return await runCommand(args, system);
  const output = new PluginOutput(system);
  return output.end(await runCommand(args, output.system));
}

async function runCommand(args: readonly string[], system: System): Promise<number> {
  try {
    return await dispatch(args, system);
  } catch (error) {
    const color = usesColor(system.stderr, system) && !args.includes("--no-color");
    const { text, exitCode } = describeFailure(error, { color, places: typedPlaces(args) });
    system.stderr.write(text);
    return exitCode;
  }
}

/** Prints an uncaught error like any other error that terminates the program. Returns the exit code. */
export function reportUncaught(error: unknown, system: System, args: readonly string[]): number {
  const { text, exitCode } = describeFailure(error, { color: false });
  const output = asksForPlugin(args) ? new PluginOutput(system) : null;
  (output?.system ?? system).stderr.write(text);
  return output?.end(exitCode) ?? exitCode;
}

async function dispatch(args: readonly string[], system: System): Promise<number> {
  const answer = answerAtOnce(args, system.runtime);
  if (answer !== null) return print(answer, system);
  // Only behind options, all commands are needed to distinguish the command from an option's value.
  const commands = args[0]?.startsWith("-") ? await loadCommands() : [];
  const { name, rest } = splitCommand(args, commands);
  if (name === null) return answerWithoutCommand(rest, system);
  if (name === "help") return rest[0] === undefined ? print(PROGRAM_HELP, system) : showHelp(rest[0], system);
  const command = await loadCommand(name);
  // A word after -- is no option.
  const options = rest.slice(0, rest.includes("--") ? rest.indexOf("--") : rest.length);
  if (options.includes("--help") || options.includes("-h")) return showHelp(name, system);
  const invocation = parseInvocation(command, rest);
  if (invocation.has("version")) return print(versionText(system.runtime), system);
  if (command.uses !== undefined) {
    for (const permission of PERMISSION_CLASSES) {
      if (!command.uses.includes(permission)) system.permissions.drop(permission);
    }
  }
  return await command.run(invocation, system);
}

async function answerWithoutCommand(args: readonly string[], system: System): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) return print(PROGRAM_HELP, system);
  if (args.includes("--version") || args.includes("-V")) return print(versionText(system.runtime), system);
  const [first] = args;
  if (first === "-v") throw new UsageError('unexpected "-v"', OTHER_WORDS.version);
  if (first !== undefined) {
    const meant = await checkWith(first);
    const hint = meant === null ? "see: monitor --help" : `did you mean: ${meant}`;
    throw new UsageError(`unexpected "${first}", expected a command`, hint);
  }
  system.stderr.write(PROGRAM_HELP);
  return EXIT.usage;
}

/** Returns `monitor check` with a word that is one of its options, also with one hyphen for two; `null`: it is none. */
async function checkWith(word: string): Promise<string | null> {
  const name = word.replace(/^--?/, "");
  const { options } = await loadCommand("check");
  const option = options.find((spec) => spec.name === name || spec.short === name);
  if (option === undefined) return null;
  // The config is added to every hint.
  return option === OPTION.config ? "monitor check" : `monitor check --${option.name}`;
}

async function loadCommand(name: string): Promise<Command> {
  // For completion scripts; no help lists it.
  if (name === "__complete") return (await import("./commands/complete.ts")).completeCommand;
  const load = Object.hasOwn(COMMAND_LOADERS, name) ? COMMAND_LOADERS[name] : undefined;
  if (load !== undefined) return await load();
  const known = Object.hasOwn(OTHER_WORDS, name) ? OTHER_WORDS[name] : undefined;
  const meant = nearest(name, Object.keys(COMMAND_LOADERS));
  const hint = meant === undefined ? "see: monitor --help" : `did you mean "monitor ${meant}"?`;
  throw new UsageError(`unknown command "${name}"`, known ?? hint);
}

const AS_SERVICE = "run the checks as a service with: monitor check";
const BY_SIGNAL = "end the service as you started it, for example with: systemctl stop monitor";

/** The words of other tools, with the command that does the same here. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  unsilence: "end a silence with: monitor silence end NAME",
  try: "run a new check once with: monitor add --dry-run TARGET",
  version: "print the version with: monitor --version",
  list: "list the checks with: monitor status",
  ls: "list the checks with: monitor status",
  logs: "print the changes of a check with: monitor history NAME; a service logs to stderr",
  start: AS_SERVICE,
  serve: AS_SERVICE,
  stop: BY_SIGNAL,
  restart: "apply an edited config with: monitor reload",
  test: "run all checks once with: monitor check --once, or a new one with: monitor add --dry-run TARGET",
};

async function showHelp(name: string, system: System): Promise<number> {
  const { commandHelp } = await import("./help.ts");
  return print(commandHelp(await loadCommand(name)), system);
}

function print(text: string, system: System): number {
  system.stdout.write(text);
  return EXIT.ok;
}

// The output of a command that runs as a plugin: its caller reads the first line of stdout, and the exit codes 0 to 3.

const REASON_LENGTH_MAX = 1000;

/** The reasons of exit codes that come without an error. */
const REASONS: Readonly<Record<number, string>> = {
  [EXIT.undelivered]: "a notification is not delivered yet",
  [EXIT.interrupted]: "stopped before every check had a result",
  [EXIT.terminated]: "stopped before every check had a result",
};

/** Returns whether the words of a command line ask for the output of a plugin, also if they have errors. */
function asksForPlugin(args: readonly string[]): boolean {
  const own = args.slice(0, args.includes("--") ? args.indexOf("--") : args.length);
  return (own.includes("check") || own.includes("status")) &&
    own.some((word, index) =>
      word === "--format=plugin" || word === "plugin" && own[index - 1] === "--format"
    );
}

/** Keeps what a command prints until it ends. */
export class PluginOutput {
  readonly system: System;
  readonly #stdout: TextSink;
  readonly #stderr: TextSink;
  #printed = "";
  #error: string | null = null;

  constructor(system: System) {
    this.#stdout = system.stdout;
    this.#stderr = system.stderr;
    const stdout = sinkLike(system.stdout, (text) => void (this.#printed += text));
    const stderr = sinkLike(system.stderr, (text) => {
      this.#error ??= /^monitor: error: (.*)$/m.exec(text)?.[1] ?? null;
      this.#stderr.write(text);
    });
    this.system = { ...system, stdout, stderr };
  }

  /** Prints the output. Returns the exit code of the plugin: that of the command, or unknown if it is another one. */
  end(code: number): number {
    const isCondition = Object.values(CONDITION_CODES).includes(code);
    try {
      this.#stdout.write(isCondition ? this.#printed : this.#unknown(code));
    } catch (error) {
      this.#stderr.write(`monitor: error: cannot write to stdout: ${messageOf(error)}\n`);
      return CONDITION_CODES.unknown;
    }
    return isCondition ? code : CONDITION_CODES.unknown;
  }

  /** The results, if there are any, follow the reason. */
  #unknown(code: number): string {
    const reason = this.#error ?? REASONS[code] ?? `exit code ${code}`;
    const status = `MONITOR UNKNOWN - ${truncate(reason, REASON_LENGTH_MAX).replaceAll("|", "¦")}`;
    const results = /^MONITOR \w+ -(.*)$/s.exec(this.#printed)?.[1];
    return results === undefined ? `${status}\n` : `${status};${results}`;
  }
}
