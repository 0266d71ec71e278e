import {
  type Command,
  EXIT,
  exitCodeOf,
  failRule,
  formatOption,
  type Invocation,
  OPTION,
  option,
  type ReportFormat,
  UsageError,
} from "../command_definition.ts";
import { jsonDocument, printable, printableBlock, shellWord } from "../../shared/text.ts";
import { checkFields } from "../formats/json.ts";
import {
  addChecks,
  type AddOptions,
  NO_CONFIG,
  openTarget,
  partChecks,
  partValid,
  tryChecks,
} from "../new_checks/add_checks.ts";
import {
  CHECK_OPERANDS,
  entryFor,
  type NewCheck,
  readOperands,
  renderEntry,
} from "../new_checks/read_operands.ts";

export const addCommand: Command = {
  name: "add",
  group: "start",
  summary: "run new checks once and write them into the config",
  operands: `${CHECK_OPERANDS}…`,
  description:
    "Runs each check once, prints the results and writes the checks into the config. Comments and layout stay. Without a " +
    "config it makes monitor.jsonc. A TARGET without a kind is a URL, also of a protocol such as smtp://HOST, HOST:PORT, a port, a systemd unit, a directory, a file or a " +
    "line of a crontab. KEY=VALUE is a parameter of the check before it. Of several checks, those with an error and those " +
    "that the config has already are named and left out. --dry-run writes nothing, and reads only a config that --config names.",
  page: "guides/add_checks.md",
  options: [
    OPTION.config,
    option("--name NAME", "name of the check; only for one check"),
    option("--dry-run", "results and JSON of the checks only; the exit code is the highest severity"),
    option("--trace", "everything that the runs send and receive"),
    formatOption(["pretty", "json"], "of --dry-run: pretty or json"),
  ],
  examples: [
    ["monitor add https://example.org/ nginx.service /", "add three checks"],
    ["monitor add 8080:80 --name shop", "add a port that a container publishes"],
    ["monitor add '30 2 * * * /usr/local/bin/backup'", "add a cron job, and print its new line"],
    ["monitor add ping 192.0.2.1 count=3", "add a check of another kind"],
    ["monitor add --dry-run --trace https://example.org/", "show what a new check does"],
  ],
  endings: ["tried", "state", "permission", "config", "interrupted"],
  run: async (invocation, system) => {
    const read = await readOperands(invocation.operands, system);
    const count = read.checks.length + read.rejected.length;
    if (count === 0) throw new UsageError("add requires a target", "monitor add https://example.org/");
    const name = invocation.text("name");
    if (name !== undefined && count > 1) throw new UsageError("--name cannot be used with several checks");
    const checks = read.checks.map((check) =>
      name === undefined ? check : { ...check, name, target: undefined }
    );
    const isDryRun = invocation.has("dry-run");
    const format = readFormat(invocation);
    const traces = invocation.has("trace");
    const target = isDryRun && !invocation.has("config")
      ? NO_CONFIG
      : await openTarget({ invocation, system });
    const { known, taken, free } = partChecks(checks, target);
    const output = format === "json" ? system.stderr : system.stdout;
    for (const text of known) output.write(`not added: ${printable(text)}\n`);
    const { valid, invalid } = await partValid(free, { invocation, system, target });
    const rejected = [...read.rejected, ...taken, ...invalid];
    const [only] = rejected;
    if (count === 1 && only !== undefined) throw only;
    for (const { message, hint } of rejected) {
      system.stderr.write(`monitor: not added: ${printable(message)}\n`);
      if (hint !== null) system.stderr.write(`monitor: hint: ${printable(hint)}\n`);
    }
    const options = { invocation, system, target, traces };
    const code = isDryRun
      ? await dryRun(valid, { ...options, format, hasRejected: rejected.length > 0 })
      : await addChecks(valid, options);
    return rejected.length > 0 && code === EXIT.ok ? EXIT.usage : code;
  },
};

/** @throws {UsageError} If it cannot be combined with the other options. */
function readFormat(invocation: Invocation): ReportFormat {
  const format = invocation.reportFormat();
  if (invocation.has("dry-run")) {
    if (invocation.has("trace") && format === "json") {
      throw new UsageError("--trace cannot be used with --format json");
    }
  } else if (invocation.has("format")) throw new UsageError("--format requires --dry-run");
  return format;
}

type DryRunOptions = AddOptions & { readonly format: ReportFormat; readonly hasRejected: boolean };

async function dryRun(checks: readonly NewCheck[], options: DryRunOptions): Promise<number> {
  const { system, invocation, format, hasRejected } = options;
  if (checks.length === 0) return EXIT.ok;
  const { records, stopCode, printed } = await tryChecks(checks, options);
  if (stopCode !== null) return stopCode;
  const config = Object.fromEntries(checks.map((check) => [check.name, entryFor(check)]));
  const it = checks.length === 1 ? "it" : "them";
  system.stdout.write(
    format === "json"
      ? jsonDocument({ checks: records.map(checkFields), config })
      : printed + (hasRejected ? "" : `add ${it} with: ${describeAdding(invocation)}\nor `) +
        `paste ${it} into "checks":\n${printableBlock(checks.map(renderEntry).join(",\n"))}\n`,
  );
  return exitCodeOf(records.map(({ result }) => result.condition), failRule("warning"));
}

function describeAdding(invocation: Invocation): string {
  const name = invocation.text("name");
  const config = invocation.text("config");
  return [
    "monitor add",
    ...config === undefined ? [] : ["-c", shellWord(config)],
    ...invocation.operands.map(shellWord),
    ...name === undefined ? [] : ["--name", shellWord(name)],
  ].map(printable).join(" ");
}
