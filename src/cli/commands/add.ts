import { type Command, OPTION, option, UsageError } from "../command_definition.ts";
import { printable } from "../../shared/text.ts";
import { EXIT } from "../exit_code.ts";
import {
  addChecks,
  type KnownCheck,
  openTarget,
  partKnown,
  partTaken,
  partValid,
} from "../new_checks/add_checks.ts";
import { CHECK_OPERANDS, readOperands } from "../new_checks/read_operands.ts";

export const addCommand: Command = {
  name: "add",
  summary: "try checks and add them to the config",
  operands: `${CHECK_OPERANDS}…`,
  operandKind: "path",
  description:
    "Runs each check once, prints the results and writes the checks into the config. Comments and layout stay. Without a " +
    "config it makes monitor.jsonc. A TARGET without a kind is a URL, HOST:PORT, a port, a systemd unit, a directory, a file or a " +
    "line of a crontab. KEY=VALUE is a parameter of the check before it. Of several checks, those with an error and those " +
    "that the config has already are named and left out.",
  page: "guides/add_checks.md",
  options: [
    OPTION.config,
    option("--name NAME", "name of the check; only for one check"),
    option("--dry-run", "the checks as JSON on stdout, without a change of the config"),
  ],
  examples: [
    ["monitor add https://example.org/ nginx.service /", "add three checks"],
    ["monitor add 8080:80 --name shop", "add a port that a container publishes"],
    ["monitor add '30 2 * * * /usr/local/bin/backup'", "add a cron job, and print its new line"],
    ["monitor add ping 192.0.2.1 count=3", "add a check of another kind"],
  ],
  endings: ["done", "state", "permission", "config", "interrupted"],
  run: async (invocation, system) => {
    const read = await readOperands(invocation.operands, system);
    const count = read.checks.length + read.rejected.length;
    if (count === 0) throw new UsageError("add requires a target", "monitor add https://example.org/");
    const name = invocation.text("name");
    if (name !== undefined && count > 1) throw new UsageError("--name cannot be used with several checks");
    const checks = read.checks.map((check) =>
      name === undefined ? check : { ...check, name, target: undefined }
    );
    const target = await openTarget({ invocation, system });
    const { known, added } = partKnown(checks, target);
    for (const one of known) {
      system.stdout.write(`not added: ${printable(describeKnown(one))}\n`);
    }
    const { free, taken } = partTaken(added, target);
    const { valid, invalid } = await partValid(free, { invocation, system, target });
    const rejected = [...read.rejected, ...taken, ...invalid];
    const [only] = rejected;
    if (count === 1 && only !== undefined) throw only;
    for (const { message, hint } of rejected) {
      system.stderr.write(`monitor: not added: ${printable(message)}\n`);
      if (hint !== null) system.stderr.write(`monitor: hint: ${printable(hint)}\n`);
    }
    const isDryRun = invocation.has("dry-run");
    const code = await addChecks(valid, { invocation, system, target, isDryRun });
    return rejected.length > 0 && code === EXIT.ok ? EXIT.usage : code;
  },
};

function describeKnown({ check, name, isNew, isInactive }: KnownCheck): string {
  const target = check.target ?? check.name;
  if (isNew) return `${target} is specified more than once, as "${name}"`;
  if (isInactive) return `${target} is in the config already, as "${name}", which is inactive`;
  return name === check.name
    ? `${name} is in the config already`
    : `${target} is checked already, by "${name}"`;
}
