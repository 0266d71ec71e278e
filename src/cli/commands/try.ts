import { type Command, type Invocation, OPTION, option, UsageError } from "../command_definition.ts";
import { EXIT, exitCodeOf, failRule } from "../exit_code.ts";
import { checkFields } from "../formats/json.ts";
import {
  CHECK_OPERANDS,
  entryFor,
  type NewCheck,
  openNewChecks,
  readAllOperands,
  renderEntry,
} from "../new_checks/read_operands.ts";
import { isTryable, renderRecords, runNewChecks } from "../new_checks/run_new_checks.ts";
import { jsonDocument, printable, printableBlock, shellWord } from "../../shared/text.ts";

export const tryCommand: Command = {
  name: "try",
  summary: "run a check that is not in a config",
  operands: CHECK_OPERANDS,
  operandKind: "path",
  description:
    "Runs a check once, without config, state and notifications, and prints its result and its JSON. A TARGET without a kind " +
    "is a URL, HOST:PORT, a port, a systemd unit, a directory or a file. KEY=VALUE is a parameter of the kind, such as " +
    "response.status_code=200.",
  page: "guides/add_checks.md",
  options: [
    option("--trace", "everything that the run sends and receives"),
    OPTION.format,
  ],
  examples: [
    ["monitor try https://example.org/", "request a page, and check its certificate"],
    ["monitor try 127.0.0.1:5432", "connect to a port"],
    ["monitor try disk_space / free.warning_below=20%", "check a disk with another limit"],
    ["monitor try https://example.org/ response.status_code=404 --trace", "show why a check fails"],
  ],
  endings: ["ran", "permission", "interrupted"],
  run: async (invocation, system) => {
    const format = invocation.reportFormat();
    const traces = invocation.has("trace");
    if (traces && format === "json") throw new UsageError("--trace cannot be used with --format json");
    const [check, ...others] = await readAllOperands(invocation.operands, system);
    if (check === undefined) {
      throw new UsageError("try requires a target", "monitor try https://example.org/");
    }
    if (others.length > 0) {
      throw new UsageError("try runs one check", `several are added with: monitor add ${typed(invocation)}`);
    }
    const startedMonotonicMs = system.clock.monotonicMs();
    const config = await openNewChecks([check], { invocation, system });
    for (const one of config.checks) {
      if (!await isTryable(one)) {
        const message = `cannot try kind ${check.kind}: it depends on check-ins or other checks`;
        throw new UsageError(message, `add it with: monitor add ${typed(invocation)}`);
      }
    }
    const { records, stopCode } = await runNewChecks(config.checks, { invocation, system, config, traces });
    if (stopCode !== null && records.length === 0) return stopCode;
    system.stdout.write(
      format === "json"
        ? jsonDocument({ checks: records.map(checkFields), config: { [check.name]: entryFor(check) } })
        : renderRecords(records, { invocation, system, startedMonotonicMs }) +
          describeAdding(check, invocation),
    );
    return records.length === 0
      ? EXIT.ok
      : exitCodeOf(records.map(({ result }) => result.condition), failRule("warning"));
  },
};

/** The operands as a shell reads them back. */
function typed({ operands }: Invocation): string {
  return operands.map(shellWord).join(" ");
}

function describeAdding(check: NewCheck, invocation: Invocation): string {
  const words = typed(invocation);
  return `\nadd it with: monitor add ${printable(words)}\nor paste it into "checks":\n${
    printableBlock(renderEntry(check))
  }\n`;
}
