import {
  type Command,
  COMMON_OPTIONS,
  type ConfigNames,
  operandsMax,
  type OptionSpec,
} from "../command_definition.ts";

export interface Candidate {
  /** The whole word as an argument: without quotes. */
  readonly value: string;
  /** A line for people; may be empty. */
  readonly description: string;
}

export type Completion =
  | { readonly offers: "words"; readonly candidates: readonly Candidate[] }
  /** The shell completes paths better than we could. */
  | { readonly offers: "files" };

interface CompletionSources {
  readonly commands: readonly Command[];
  /** Names in the config that `--config` names, or in the one that is found; none if it is not valid. */
  namesIn(config: string | undefined, names: ConfigNames): Promise<readonly Candidate[]>;
}

/** Returns the candidates for the last word, not yet filtered by its beginning. */
export async function complete(
  words: readonly string[],
  { commands, namesIn }: CompletionSources,
): Promise<Completion> {
  const current = words.at(-1) ?? "";
  const typed = readTyped(words.slice(0, -1), commands);
  const valuesOf = async (spec: OptionSpec, prefix: string): Promise<Completion> => {
    if (spec.names === undefined) return fixedValuesOf(spec, prefix);
    const named = await namesIn(typed.options.get("config"), spec.names);
    return offer(named.map(({ value, description }) => ({ value: `${prefix}${value}`, description })));
  };
  if (typed.awaited !== null) return await valuesOf(typed.awaited, "");
  const specs = [...typed.command?.options ?? [], ...COMMON_OPTIONS];
  if (!typed.onlyOperands && current.startsWith("-")) {
    const [, name] = /^--([^=]*)=/.exec(current) ?? [];
    const spec = specs.find((candidate) => candidate.name === name);
    if (spec !== undefined) return await valuesOf(spec, `--${spec.name}=`);
    return offer(
      specs.filter((candidate) => candidate.repeatable === true || !typed.options.has(candidate.name)).map(
        describeOption(current),
      ),
    );
  }
  const commandWords = commands.map(({ name, summary }) => ({ value: name, description: summary }));
  if (typed.word === "help") return offer(typed.operands.length === 0 ? commandWords : []);
  if (typed.word === null) {
    return offer([...commandWords, { value: "help", description: "show the help of a command" }]);
  }
  const { command, operands } = typed;
  if (command?.operandKind === undefined || operands.length >= operandsMax(command)) return offer([]);
  if (command.operandKind === "path") return { offers: "files" };
  const { operandKind } = command;
  const firstWords = operandKind === "check" ? [] : "then" in operandKind ? operandKind.first : operandKind;
  const offersFirst = firstWords.length > 0 && operands.length === 0;
  const orNames = operandKind !== "check" && "then" in operandKind && operandKind.orNames === true;
  const first = offersFirst ? firstWords.map(toCandidate) : [];
  if (offersFirst && !orNames) return offer(first);
  if (operandKind !== "check" && !("then" in operandKind)) return { offers: "files" };
  const named = await namesIn(typed.options.get("config"), "checks");
  return offer([
    ...first,
    ...named.filter(({ value }) =>
      // Before -- it would be taken for an option.
      !operands.includes(value) && (typed.onlyOperands || !value.startsWith("-"))
    ),
  ]);
}

/** The values of options by name; that of a flag is empty. `onlyOperands`: `--` came. */
function readTyped(words: readonly string[], commands: readonly Command[]) {
  const every = [...commands.flatMap((command) => command.options), ...COMMON_OPTIONS];
  const options = new Map<string, string>();
  const others: string[] = [];
  let awaited: OptionSpec | null = null;
  let onlyOperands = false;
  for (const word of words) {
    if (awaited !== null) {
      options.set(awaited.name, word);
      awaited = null;
    } else if (onlyOperands || !word.startsWith("-") || word === "-") {
      others.push(word);
    } else if (word === "--") {
      onlyOperands = true;
    } else {
      const [, long, separator, value] = /^--([^=]*)(=?)(.*)$/s.exec(word) ?? [];
      const short = word.slice(1, 2);
      // Options of one name may have other values with another command.
      const own = commands.find(({ name }) => name === others[0])?.options ?? [];
      const spec = [...own, ...every].find(({ name, short: letter }) =>
        long === undefined ? letter === short : name === long
      );
      if (spec === undefined) continue;
      const given = long === undefined ? word.slice(2) : value ?? "";
      if (spec.value !== undefined && given === "" && separator !== "=") awaited = spec;
      else options.set(spec.name, given);
    }
  }
  const [word = null, ...operands] = others;
  const command = commands.find(({ name }) => name === word) ?? null;
  return { word, command, operands, options, awaited, onlyOperands };
}

/** The words with which the help names the value of an option that is a path. */
const PATH_VALUES: readonly string[] = ["PATH", "FILE", "FOLDER"];

function fixedValuesOf(spec: OptionSpec, prefix: string): Completion {
  if (spec.choices === undefined) {
    return spec.value !== undefined && PATH_VALUES.includes(spec.value) ? { offers: "files" } : offer([]);
  }
  return offer(spec.choices.map((choice) => toCandidate(`${prefix}${choice}`)));
}

/** The short form is offered if it was typed, so that the shell continues behind it. */
function describeOption(current: string): (spec: OptionSpec) => Candidate {
  return ({ name, short, description }) => ({
    value: short !== undefined && current === `-${short}` ? current : `--${name}`,
    description,
  });
}

function toCandidate(value: string): Candidate {
  return { value, description: "" };
}

function offer(candidates: readonly Candidate[]): Completion {
  return { offers: "words", candidates };
}
