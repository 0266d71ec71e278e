import { type Command, type ConfigNames, EXIT, Invocation } from "../command_definition.ts";
import { loadCommands } from "../command_loaders.ts";
import type { LoadedConfig } from "../../config/load.ts";
import type { System } from "../../domain/system.ts";
import { answerText, type Candidate, complete, readShell, SHELL_ENTRIES } from "./completions.ts";
import { openConfig } from "../open_config.ts";
import { printable } from "../../shared/text.ts";

/** `monitor __complete SHELL -- …`, which the completions call at every Tab. */
export const completeCommand: Command = {
  name: "__complete",
  group: "plumbing",
  summary: "print the completions of a command line",
  operands: "SHELL -- WORD…",
  description: "Prints the completions that a completion script asks for.",
  page: "start/install.md",
  options: [],
  endings: ["done"],
  uses: ["read", "env", "sys"],
  examples: [],
  run: async ({ operands }, system) => {
    const [name, ...asked] = operands;
    const shell = readShell(name);
    const completion = await complete(SHELL_ENTRIES[shell].words(asked), {
      commands: await loadCommands(),
      namesIn: (config, names) => listNames(config, names, system),
    });
    system.stdout.write(answerText(shell, completion, asked));
    return EXIT.ok;
  },
};

/** Nothing is printed about a config with errors: the command that uses it prints them. */
async function listNames(config: string | undefined, names: ConfigNames, system: System) {
  // Standard input is for the command itself.
  if (config === "-") return [];
  // The shell would put the home in its place, but here the word comes as it was typed.
  const path = config?.replace(/^~(?=\/)/, system.environment("HOME") ?? "~");
  const invocation = new Invocation({ options: new Map(path === undefined ? [] : [["config", path]]) });
  try {
    return LISTS[names](await openConfig(invocation, system, { withoutSecrets: true }));
  } catch {
    return [];
  }
}

const LISTS: Readonly<Record<ConfigNames, (config: LoadedConfig) => readonly Candidate[]>> = {
  checks: ({ checks }) =>
    checks.map(({ name, title, kind }) => ({ value: name, description: printable(title ?? kind) })),
  channels: ({ channels }) => [...channels].map(([name, { kind }]) => ({ value: name, description: kind })),
  tags: ({ checks }) =>
    [...new Set(checks.flatMap(({ tags }) => tags))].map((tag) => ({ value: tag, description: "" })),
};
