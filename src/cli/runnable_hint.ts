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
/** The commands that read a config and no state. */
const WITHOUT_STATE: readonly string[] = ["add", "discover", "explain", "notify", "validate"];
const COMMAND = /\bmonitor ([a-z]+)(?![a-z])(?! (?:-c|--config)\b)/g;
/** What stands before a command line in a hint; elsewhere `monitor` is the subject of a sentence. */
const BEFORE = /(?:(?:^|: |with |or |and |\()|run )$/;

/** Where this call has its config and its state, as typed. */
export interface TypedPlaces {
  readonly config?: string | undefined;
  readonly state?: string | undefined;
}

/** Adds the `--config` and the `--state` of this call to the command lines in a hint, so that they can be run as printed. */
export function runnableHint(text: string, { config, state }: TypedPlaces): string {
  const ofConfig = config === undefined || config === "-" ? "" : ` -c ${shellWord(config)}`;
  // A URL may have a password in it.
  const isFile = state !== undefined && state !== "none" && !state.includes("://");
  const ofState = isFile ? ` --state ${shellWord(state)}` : "";
  return text.replace(COMMAND, (whole, name: string, index: number) => {
    if (WITHOUT_CONFIG.includes(name) || !BEFORE.test(text.slice(0, index))) return whole;
    return whole + ofConfig + (WITHOUT_STATE.includes(name) ? "" : ofState);
  });
}

/** The same for a command that has parsed its options. */
export function hintOf(invocation: Invocation, text: string): string {
  const [config, state] = [optionValue(invocation, "config"), optionValue(invocation, "state")];
  return runnableHint(text, { config, state });
}

/** The places in arguments that may be invalid. */
export function typedPlaces(args: readonly string[]): TypedPlaces {
  const end = args.indexOf("--");
  const own = end < 0 ? args : args.slice(0, end);
  return { config: valueIn(own, "--config", "-c"), state: valueIn(own, "--state") };
}

function valueIn(args: readonly string[], ...names: readonly string[]): string | undefined {
  for (const [index, word] of args.entries()) {
    if (names.includes(word)) return args[index + 1];
    const name = names.find((one) => word.startsWith(`${one}=`));
    if (name !== undefined) return word.slice(name.length + 1);
  }
  return undefined;
}
