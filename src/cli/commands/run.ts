import { type Command, EXIT, exitCodeOf, failRule, OPTION, UsageError } from "../command_definition.ts";
import { jsonDocument, printable } from "../../shared/text.ts";
import type { CheckFields } from "../formats/json.ts";
import { askService } from "../control_client.ts";
import { OutputError } from "../failure.ts";

export const runCommand: Command = {
  name: "run",
  group: "run",
  summary: "run checks now in the running monitor",
  operands: "NAME…",
  operandKind: "check",
  description:
    "Runs checks now in the monitor that runs on this state, and prints their results. They count like any other result: for " +
    "thresholds, notifications and history.",
  page: "guides/systemd.md",
  options: [OPTION.config, OPTION.state, OPTION.format],
  examples: [
    ["monitor run web", "run a check after a fix, without waiting for its schedule"],
    ["monitor run web mail --format json", "print the results as JSON"],
  ],
  uses: ["read", "write", "net", "env", "sys"],
  endings: ["ran", "name", "state", "permission", "config"],
  run: async (invocation, system) => {
    const names = [...new Set(invocation.operands)];
    if (names.length === 0) throw new UsageError("run requires the name of a check", "monitor run NAME");
    const format = invocation.reportFormat();
    const response = await askService({ command: "run", names }, invocation, system);
    if (!("results" in response)) throw new OutputError("error" in response ? response.error : "no response");
    const missing = names.filter((_, index) => response.results[index] === null);
    if (missing.length > 0) {
      const listed = missing.map((name) => `"${name}"`).join(", ");
      throw new UsageError(
        `the running monitor has no such check: ${listed}`,
        "list them with: monitor status",
      );
    }
    const results = response.results.filter((result) => result !== null);
    system.stdout.write(
      format === "json"
        ? jsonDocument({ checks: results })
        : results.map((result) => `${describeResult(result)}\n`).join(""),
    );
    return results.length === 0
      ? EXIT.ok
      : exitCodeOf(results.map(({ condition }) => condition), failRule("warning"));
  },
};

function describeResult({ name, condition, output, confirmed, occurrences, threshold }: CheckFields): string {
  const said = `${condition.toUpperCase()} ${name}: ${output === "" ? "no output" : output}`;
  if (confirmed === condition) return printable(said);
  if (confirmed !== null) return printable(`${said} (confirmed: ${confirmed})`);
  return printable(`${said} (pending${occurrences === 0 ? "" : `: ${occurrences} of ${threshold}`})`);
}
