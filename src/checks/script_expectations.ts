import { describeReach, searchCapture, searchPattern } from "./body_pattern.ts";
import type { CheckResult } from "../domain/check.ts";
import { type Condition, highestSeverity } from "../domain/condition.ts";
import type { Range } from "../domain/limits.ts";
import type { ScriptParameters } from "../domain/generated/config.ts";
import { quote } from "../shared/text.ts";
import { describeRange, parseRange, violatesRange } from "../shared/decimal.ts";
import { type PerformanceDatum, readPerformanceData } from "../shared/performance_data.ts";

interface Finding {
  readonly condition: Condition;
  readonly reason: string;
}

/** Compares the output of a command with the expected one: text, pattern, value, performance data. */
export async function evaluatePrinted(
  parameters: ScriptParameters,
  { exitCondition, text, isWhole, performanceData }: {
    readonly exitCondition: Condition;
    readonly text: string;
    readonly isWhole: boolean;
    readonly performanceData: string;
  },
): Promise<Pick<CheckResult, "condition" | "metrics"> & { readonly reasons: readonly string[] }> {
  const { outputPart, outputPattern, value, performanceDataRanges, conditionOnMismatch = "critical" } =
    parameters;
  const findings: Finding[] = [];
  const add = (reason: string, condition: Condition = "unknown"): void =>
    void findings.push({ condition, reason });
  if (outputPart !== undefined && !text.includes(outputPart)) {
    if (isWhole) add(`output does not contain ${quote(outputPart)}`, conditionOnMismatch);
    else add(unsearched(outputPart, text.length));
  }
  if (outputPattern !== undefined) {
    const search = await searchPattern(text, { pattern: outputPattern, isWhole });
    if (!search.found) {
      if (search.searchedLength !== null) add(unsearched(outputPattern, search.searchedLength));
      else add(`output does not match ${quote(outputPattern)}`, conditionOnMismatch);
    }
  }
  const metrics: Record<string, number> = {};
  if (value !== undefined) {
    const search = await searchCapture(text, { pattern: value.pattern, isWhole });
    const { captured } = search;
    if (captured === null) {
      add(`no value: output does not match ${quote(value.pattern)}${describeReach(search)}`);
    } else if (!DECIMAL.test(captured)) add(`the value ${quote(captured)} is not a number`);
    else {
      metrics["value"] = Number(captured);
      findings.push(...rangeFindings({ label: "value", shown: captured }, value));
    }
  }
  if (performanceDataRanges === true) {
    findings.push(...performanceFindings(performanceData));
    if (!isWhole) add("output is too long, so not all performance data is known");
  }
  return {
    condition: highestSeverity(findings.map(({ condition }) => condition)),
    // A command that failed prints its own reason in place of what is missing.
    reasons: findings.filter(({ condition }) => condition !== "unknown" || exitCondition === "ok")
      .map(({ reason }) => reason),
    metrics,
  };
}

function unsearched(text: string, searchedLength: number): string {
  return `cannot search all of the output for ${quote(text)}: it has more than ${searchedLength} characters`;
}

/** Compares performance data with its own ranges. Data that can't be read may be outside of them. */
function* performanceFindings(performanceData: string): Generator<Finding> {
  const { data, unread } = readPerformanceData(performanceData);
  if (data.length === 0 && unread.length === 0) {
    yield { condition: "unknown", reason: "no performance data" };
  }
  for (const datum of data) yield* datumFindings(datum);
  const [first] = unread;
  if (first === undefined) return;
  const rest = unread.length > 1 ? ` and ${unread.length - 1} more` : "";
  yield { condition: "unknown", reason: `performance data cannot be read: ${quote(first)}${rest}` };
}

function* datumFindings({ label, value: shown, unit, limits }: PerformanceDatum): Generator<Finding> {
  const texts = limits.slice(0, 2).filter((text) => text !== "");
  const wrong = texts.find((text) => parseRange(text) === null);
  if (wrong !== undefined) {
    yield { condition: "unknown", reason: `the range ${quote(wrong)} of ${label} is empty` };
  } else if (shown === "U" && texts.length > 0) {
    yield { condition: "unknown", reason: `${label} is unknown` };
  } else {
    const [warning, critical] = limits.map((text) => parseRange(text) ?? undefined);
    yield* rangeFindings({ label, shown, unit }, { warning, critical });
  }
}

const DECIMAL = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?$/;

function* rangeFindings(
  { label, shown, unit = "" }: { readonly label: string; readonly shown: string; readonly unit?: string },
  { warning, critical }: { readonly warning?: Range | undefined; readonly critical?: Range | undefined },
): Generator<Finding> {
  for (const [condition, range] of [["critical", critical], ["warning", warning]] as const) {
    if (range === undefined || !violatesRange(shown, range)) continue;
    yield { condition, reason: `${label} is ${shown}${unit}, ${condition} ${describeRange(range)}` };
    return;
  }
}
