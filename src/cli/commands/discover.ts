import { type Command, OPTION, option, UsageError } from "../command_definition.ts";
import { pad, textWidth } from "../../shared/wrap.ts";
import { jsonDocument, printable, truncate } from "../../shared/text.ts";
import { choose, discover, type ProposedCheck } from "../new_checks/discover.ts";
import { EXIT } from "../exit_code.ts";
import { addChecks, openTarget } from "../new_checks/add_checks.ts";
import { entryFor } from "../new_checks/read_operands.ts";
import { hintOf } from "../failure.ts";
import { warn } from "../terminal.ts";

export const discoverCommand: Command = {
  name: "discover",
  group: "start",
  summary: "propose checks for what runs on this machine",
  description:
    "Proposes checks for file systems, systemd units, listening ports, certificates and cron jobs that the config does not check " +
    "yet. On a terminal it asks which to add; the chosen ones are tried and written as with add.",
  page: "guides/add_checks.md",
  options: [
    OPTION.config,
    option("--all", "addition of every proposed check, without a question"),
    option("--json", "the proposed checks as JSON; nothing is added"),
  ],
  examples: [
    ["monitor discover", "choose from the proposed checks"],
    ["monitor discover --all", "add all of them"],
    ["monitor discover --json", "list them for another program"],
  ],
  endings: ["done", "state", "permission", "config", "interrupted"],
  run: async (invocation, system) => {
    const { options } = invocation;
    if (options.has("json") && options.has("all")) throw new UsageError("--json cannot be used with --all");
    const target = await openTarget({ invocation, system });
    const notes: string[] = [];
    const proposed = await discover({ invocation, system, target, note: (text) => void notes.push(text) });
    if (options.has("json")) {
      const checks = proposed.map(({ check, reason }) => ({ name: check.name, ...entryFor(check), reason }));
      system.stdout.write(jsonDocument({ checks, unavailable: notes }));
      return EXIT.ok;
    }
    for (const text of notes) warn(text, system);
    if (proposed.length === 0) {
      system.stdout.write("nothing to propose: everything found is checked already\n");
      return EXIT.ok;
    }
    const isAsked = !options.has("all") && system.terminal.isTerminal && system.stdout.isTerminal;
    if (!options.has("all")) system.stdout.write(renderList(proposed));
    if (!options.has("all") && !isAsked) {
      const hint = "add them with: monitor discover --all, or one by one with: monitor add TARGET";
      system.stdout.write(`\n${printable(hintOf(invocation, hint))}\n`);
      return EXIT.ok;
    }
    const chosen = isAsked ? await choose(proposed.length, system) ?? [] : proposed.keys();
    const checks = [...chosen].flatMap((index) => proposed[index]?.check ?? []);
    if (checks.length === 0) system.stdout.write("nothing was added\n");
    return await addChecks(checks, { invocation, system, target });
  },
};

const TARGET_LENGTH_MAX = 50;

function renderList(proposed: readonly ProposedCheck[]): string {
  const targets = proposed.map(({ target }) => truncate(printable(target), TARGET_LENGTH_MAX));
  const width = Math.max(...targets.map(textWidth));
  const digits = `${proposed.length}`.length;
  return proposed.map(({ reason }, index) =>
    `${`${index + 1}`.padStart(digits)}  ${pad(targets[index] ?? "", width)}  ${printable(reason)}\n`
  ).join("");
}
