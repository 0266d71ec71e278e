import type { Condition } from "../../domain/condition.ts";
import { roundedMs } from "../../shared/json_values.ts";
import { type FormatOptions, NO_CHECKS, NO_RESULT, type TestedResult, type TestFormat } from "./format.ts";
import { jsonText, printable, truncate } from "../../shared/text.ts";

/** The message is the short form; `output` has all of it. */
const MESSAGE_LENGTH_MAX = 200;

/**
 * TAP version 14 (https://testanything.org/tap-version-14-specification.html), printed at the end of the run in the
 * config's order. It fails exactly the checks that the exit code fails. A check without a result is a `not ok` rather
 * than `Bail out!`, which would make a harness drop the results of other checks and tests.
 */
export const tapFormat: TestFormat = {
  summary: (summary, options) => {
    const points = [
      ...summary.records.map(({ result }, index) => finishedPoint(result, index + 1, options)),
      ...summary.unfinished.map((name, index) =>
        pointWithout(name, { id: summary.records.length + index + 1, reason: NO_RESULT })
      ),
      ...(summary.reason !== null && options.fails(summary.condition)
        ? [pointWithout(NO_CHECKS, { id: 1, reason: summary.reason, condition: summary.condition })]
        : []),
    ];
    const plan = points.length === 0 ? `1..0 # SKIP ${summary.reason}` : `1..${points.length}`;
    return `TAP version 14\n${plan}\n${points.join("")}`;
  },
};

function finishedPoint(result: TestedResult, id: number, options: FormatOptions): string {
  const { check, condition, output, detail } = result;
  const fails = options.fails(condition);
  const diagnostics = condition === "ok" && !fails ? "" : yamlBlock({
    message: truncate(output, MESSAGE_LENGTH_MAX) || `condition is ${condition}`,
    severity: fails ? "fail" : "comment",
    ...{ condition, kind: check.kind, title: check.title, output },
    detail: detail.trim() === "" ? undefined : detail.trimEnd().split(/\r?\n/),
  });
  // `time` is no directive of the specification, so harnesses take it for a comment; node-tap reads it.
  const time = `time=${roundedMs(result.durationMs).toFixed(1)}ms`;
  return `${testPoint(check.name, { ok: !fails, id })} # ${time}\n${diagnostics}`;
}

function pointWithout(
  name: string,
  { id, reason, condition }: { readonly id: number; readonly reason: string; readonly condition?: Condition },
): string {
  const diagnostics = yamlBlock({ message: reason, severity: "fail", condition });
  return `${testPoint(name, { ok: false, id })}\n${diagnostics}`;
}

function testPoint(name: string, point: { readonly ok: boolean; readonly id: number }): string {
  const description = describe(name);
  return `${point.ok ? "ok" : "not ok"} ${point.id}${description === "" ? "" : ` - ${description}`}`;
}

/** In a description a backslash and a hash are escaped, so that no name can add a directive. */
function describe(name: string): string {
  const escaped = printable(name).trim().replaceAll("\\", "\\\\").replaceAll("#", "\\#");
  // node-tap parses an open brace at the end as the start of a subtest and has no escape for it.
  return escaped.endsWith("{") ? `"${escaped}"` : escaped;
}

/**
 * A YAML diagnostic block. Values are in the JSON subset of YAML on one line each, several lines are a list of
 * them: so no text can end the block, and the small YAML readers of TAP harnesses understand it.
 */
function yamlBlock(values: Readonly<Record<string, string | readonly string[] | undefined>>): string {
  const lines = Object.entries(values).flatMap(([name, value]) => {
    if (value === undefined) return [];
    if (typeof value === "string") return [`${name}: ${yamlString(value)}`];
    return [`${name}:`, ...value.map((line) => `  - ${yamlString(line)}`)];
  });
  return `  ---\n${lines.map((line) => `  ${line}\n`).join("")}  ...\n`;
}

function yamlString(text: string): string {
  return jsonText(text.toWellFormed());
}
