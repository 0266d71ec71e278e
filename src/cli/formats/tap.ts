import type { Condition } from "../../domain/condition.ts";
import { roundedMs } from "../../shared/json_values.ts";
import { NO_CHECKS, NO_RESULT, type TestedResult, type TestFormat } from "./format.ts";
import { jsonText, printable, truncate } from "../../shared/text.ts";

/** The message is the short form; `output` has all of it. */
const MESSAGE_LENGTH_MAX = 200;

/**
 * TAP version 14 (https://testanything.org/tap-version-14-specification.html), printed at the end of the run in the
 * config's order. It fails exactly the checks that the exit code fails. A check without a result is a `not ok` rather
 * than `Bail out!`, which would make a harness drop the results of other checks and tests.
 */
export const tapFormat: TestFormat = {
  summary: ({ records, unfinished, reason, condition }, { fails }) => {
    const points = [
      ...records.map(({ result }) => finishedPoint(result, !fails(result.condition))),
      ...unfinished.map((name) => pointWithout(name, NO_RESULT)),
      ...reason !== null && fails(condition) ? [pointWithout(NO_CHECKS, reason, condition)] : [],
    ];
    const lines = points.map(({ isOk, name, rest }, index) =>
      `${isOk ? "ok" : "not ok"} ${index + 1}${describe(name)}${rest}`
    );
    const plan = points.length === 0 ? `1..0 # SKIP ${reason}` : `1..${points.length}`;
    return `TAP version 14\n${plan}\n${lines.join("")}`;
  },
};

/** A test point; `rest` comes behind its description. */
interface TestPoint {
  readonly isOk: boolean;
  readonly name: string;
  readonly rest: string;
}

function finishedPoint(result: TestedResult, isOk: boolean): TestPoint {
  const { check, condition, output, detail, durationMs } = result;
  const diagnostics = condition === "ok" && isOk ? "" : yamlBlock({
    message: truncate(output, MESSAGE_LENGTH_MAX) || `condition is ${condition}`,
    severity: isOk ? "comment" : "fail",
    ...{ condition, kind: check.kind, title: check.title, output },
    detail: detail.trim() === "" ? undefined : detail.trimEnd().split(/\r?\n/),
  });
  // `time` is no directive of the specification, so harnesses take it for a comment; node-tap reads it.
  return { isOk, name: check.name, rest: ` # time=${roundedMs(durationMs).toFixed(1)}ms\n${diagnostics}` };
}

function pointWithout(name: string, message: string, condition?: Condition): TestPoint {
  return { isOk: false, name, rest: `\n${yamlBlock({ message, severity: "fail", condition })}` };
}

/** In a description a backslash and a hash are escaped, so that no name can add a directive. */
function describe(name: string): string {
  const escaped = printable(name).trim().replaceAll("\\", "\\\\").replaceAll("#", "\\#");
  // node-tap parses an open brace at the end as the start of a subtest and has no escape for it.
  const description = escaped.endsWith("{") ? `"${escaped}"` : escaped;
  return description === "" ? "" : ` - ${description}`;
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
