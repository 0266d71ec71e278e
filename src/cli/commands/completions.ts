import { type Command, EXIT, UsageError } from "../command_definition.ts";
import { type Shell, SHELL_ENTRIES, SHELLS } from "../completion.ts";

export const completionsCommand: Command = {
  name: "completions",
  group: "plumbing",
  summary: "print the completion script of a shell",
  operands: "SHELL",
  operandKind: SHELLS,
  description:
    "Prints the completion script of bash, zsh or fish. It completes commands, options, values, paths, and the checks, channels and tags of the config.",
  page: "start/install.md",
  options: [],
  endings: ["done"],
  uses: ["env"],
  examples: [
    ["monitor completions bash > ~/.local/share/bash-completion/completions/monitor", "install for bash"],
    ['monitor completions zsh > "${fpath[1]}/_monitor"', "install for zsh, in a writable directory"],
    ["monitor completions fish > ~/.config/fish/completions/monitor.fish", "install for fish"],
  ],
  run: ({ operands }, system) => {
    system.stdout.write(SHELL_ENTRIES[readShell(operands[0])].script);
    return Promise.resolve(EXIT.ok);
  },
};

/** @throws {UsageError} If it is none that is completed in. */
export function readShell(name: string | undefined): Shell {
  const shell = SHELLS.find((candidate) => candidate === name);
  if (shell !== undefined) return shell;
  throw new UsageError(
    name === undefined
      ? `completions requires the name of a shell: ${SHELLS.join(", ")}`
      : `the shell is "${name}", expected one of ${SHELLS.join(", ")}`,
  );
}
