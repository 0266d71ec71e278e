import { didYouMean } from "../config/nearest.ts";
import {
  type Command,
  COMMON_OPTIONS,
  hintForFile,
  Invocation,
  operandsMax,
  OPTION,
  type OptionSpec,
  UsageError,
} from "./command_definition.ts";
import { parseArgs } from "node:util";

/** Returns the command's name in the arguments and the other words; `null` for the name if there is none. */
export function splitCommand(
  args: readonly string[],
  commands: readonly Command[],
): { readonly name: string | null; readonly rest: readonly string[] } {
  const valued = new Set(
    commands.flatMap(({ options }) => options).filter(({ value }) => value !== undefined)
      .flatMap(({ name, short }) => [`--${name}`, ...short === undefined ? [] : [`-${short}`]]),
  );
  const position = args.findIndex((argument, index) => {
    const before = args[index - 1];
    return !argument.startsWith("-") && (before === undefined || !valued.has(before));
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
    const takesConfig = command.options.includes(OPTION.config);
    throw new UsageError(
      `unexpected argument "${unexpected}" after "${command.name}"`,
      (takesConfig ? hintForFile(unexpected) : undefined) ?? `see: monitor ${command.name} --help`,
    );
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
  return new UsageError(
    `unknown option "${written}" of "${command.name}"`,
    replacement === undefined ? meant ?? `see: monitor ${command.name} --help` : `use: ${replacement}`,
  );
}
