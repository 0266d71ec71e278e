import { shellWord } from "../shared/shell_word.ts";
import { type Invocation, optionValue } from "./command_definition.ts";

/** The commands that read no config. A test compares them with the table of commands. */
const WITHOUT_CONFIG: readonly string[] = [
  "try",
  "init",
  "import",
  "state",
  "schema",
  "completions",
  "licenses",
];
const COMMAND = /\bmonitor ([a-z]+)(?![a-z])(?! (?:-c|--config)\b)/g;
/** What stands before a command line in a hint; elsewhere `monitor` is the subject of a sentence. */
const BEFORE = /(?:(?:^|: |with |or |and |\()|run )$/;

/** Adds the `--config` of this call to the command lines in a hint, so that they can be run as printed. */
export function runnableHint(text: string, config: string | undefined): string {
  if (config === undefined || config === "-") return text;
  return text.replace(
    COMMAND,
    (whole, name: string, index: number) =>
      WITHOUT_CONFIG.includes(name) || !BEFORE.test(text.slice(0, index))
        ? whole
        : `${whole} -c ${shellWord(config)}`,
  );
}

/** The same for a command that has parsed its options. */
export function hintOf(invocation: Invocation, text: string): string {
  return runnableHint(text, optionValue(invocation, "config"));
}

/** The value of `--config` in arguments that may be invalid; `undefined`: none. */
export function configInArguments(args: readonly string[]): string | undefined {
  const end = args.indexOf("--");
  const own = end < 0 ? args : args.slice(0, end);
  for (const [index, word] of own.entries()) {
    if (word === "-c" || word === "--config") return own[index + 1];
    if (word.startsWith("--config=")) return word.slice("--config=".length);
  }
  return undefined;
}
