import { nearest } from "../config/nearest.ts";
import { PERMISSION_CLASSES } from "../domain/runtime_permissions.ts";
import type { System } from "../domain/system.ts";
import { answerAtOnce, PROGRAM_HELP, versionText } from "./answer_at_once.ts";
import { parseInvocation, splitCommand } from "./arguments.ts";
import { type Command, CONFIG_OPTION, UsageError } from "./command_definition.ts";
import { COMMAND_LOADERS } from "./command_loaders.ts";
import { EXIT } from "./exit_code.ts";
import { describeFailure } from "./failure.ts";
import { asksForPlugin, PluginOutput } from "./plugin_output.ts";
import { typedPlaces } from "./runnable_hint.ts";
import { usesColor } from "./terminal.ts";

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
  const commands = args[0]?.startsWith("-") ? (await import("./commands.ts")).COMMANDS : [];
  const { name, rest } = splitCommand(args, commands);
  if (name === null) return answerWithoutCommand(rest, system);
  if (name === "help") return rest[0] === undefined ? print(PROGRAM_HELP, system) : showHelp(rest[0], system);
  const command = await loadCommand(name);
  // A word after -- is no option.
  const options = rest.slice(0, rest.includes("--") ? rest.indexOf("--") : rest.length);
  if (options.includes("--help") || options.includes("-h")) return showHelp(name, system);
  const invocation = parseInvocation(command, rest);
  if (invocation.options.has("version")) return print(versionText(system.runtime), system);
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
    throw new UsageError(
      `unexpected "${first}", expected a command`,
      meant === null ? "see: monitor --help" : `did you mean: ${meant}`,
    );
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
  return option === CONFIG_OPTION ? "monitor check" : `monitor check --${option.name}`;
}

async function loadCommand(name: string): Promise<Command> {
  // For completion scripts; no help lists it.
  if (name === "__complete") return (await import("./commands/complete.ts")).completeCommand;
  const load = Object.hasOwn(COMMAND_LOADERS, name) ? COMMAND_LOADERS[name] : undefined;
  if (load !== undefined) return await load();
  const known = Object.hasOwn(OTHER_WORDS, name) ? OTHER_WORDS[name] : undefined;
  const meant = nearest(name, Object.keys(COMMAND_LOADERS));
  throw new UsageError(
    `unknown command "${name}"`,
    known ?? (meant === undefined ? "see: monitor --help" : `did you mean "monitor ${meant}"?`),
  );
}

const AS_SERVICE = "run the checks as a service with: monitor check";
const BY_SIGNAL = "end the service as you started it, for example with: systemctl stop monitor";

/** The words of other tools, with the command that does the same here. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  version: "print the version with: monitor --version",
  list: "list the checks with: monitor status",
  ls: "list the checks with: monitor status",
  logs: "print the changes of a check with: monitor history NAME; a service logs to stderr",
  start: AS_SERVICE,
  serve: AS_SERVICE,
  stop: BY_SIGNAL,
  restart: "apply an edited config with: monitor reload",
  test: "run all checks once with: monitor check --once, or a new one with: monitor try TARGET",
};

async function showHelp(name: string, system: System): Promise<number> {
  const { commandHelp } = await import("./help.ts");
  return print(commandHelp(await loadCommand(name)), system);
}

function print(text: string, system: System): number {
  system.stdout.write(text);
  return EXIT.ok;
}
