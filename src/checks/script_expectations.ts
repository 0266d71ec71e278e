import { searchCapture, searchPattern } from "./body_pattern.ts";
import { type Condition, highestSeverity } from "../domain/condition.ts";
import type { Range } from "../domain/range.ts";
import type { ScriptParameters } from "../domain/check.ts";
import { quote } from "../shared/quote.ts";
import { describeRange, parseRange, violatesRange } from "../shared/parse_range.ts";
import { parsePerformanceData } from "../shared/performance_data.ts";

interface OutputFindings {
  readonly condition: Condition;
  /** In the config's order. */
  readonly reasons: readonly string[];
  readonly metrics: Readonly<Record<string, number>>;
}

interface Finding {
  readonly condition: Condition;
  readonly reason: string;
}

/** Compares the output of a command with the expected one: text, pattern, value, performance data. */
export async function evaluatePrinted(
  parameters: ScriptParameters,
  { text, isWhole, performanceData }: {
    readonly text: string;
    readonly isWhole: boolean;
    readonly performanceData: string;
  },
): Promise<OutputFindings> {
  const { outputPart, outputPattern, value, performanceDataRanges, conditionOnMismatch = "critical" } =
    parameters;
  const findings: Finding[] = [];
  const mismatch = (reason: string): void => void findings.push({ condition: conditionOnMismatch, reason });
  if (outputPart !== undefined && !text.includes(outputPart)) {
    mismatch(`output does not contain ${quote(outputPart)}`);
  }
  if (outputPattern !== undefined) {
    const { found } = await searchPattern(text, { pattern: outputPattern, isWhole });
    if (!found) mismatch(`output does not match ${quote(outputPattern)}`);
  }
  const metrics: Record<string, number> = {};
  if (value !== undefined) {
    const { captured } = await searchCapture(text, { pattern: value.pattern, isWhole });
    if (captured === null) {
      findings.push({
        condition: "unknown",
        reason: `no value: output does not match ${quote(value.pattern)}`,
      });
    } else if (!DECIMAL.test(captured)) {
      findings.push({ condition: "unknown", reason: `the value ${quote(captured)} is not a number` });
    } else {
      metrics["value"] = Number(captured);
      findings.push(...rangeFindings({ label: "value", shown: captured }, value));
    }
  }
  if (performanceDataRanges === true) {
    for (const { label, value: shown, unit, limits } of parsePerformanceData(performanceData)) {
      const [warning, critical] = [0, 1].map((index) => parseRange(limits[index] ?? "") ?? undefined);
      if (shown !== "U") findings.push(...rangeFindings({ label, shown, unit }, { warning, critical }));
    }
  }
  return {
    condition: highestSeverity(findings.map(({ condition }) => condition)),
    reasons: findings.map(({ reason }) => reason),
    metrics,
  };
}

const DECIMAL = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?$/;

interface NamedNumber {
  readonly label: string;
  /** As it was printed. */
  readonly shown: string;
  readonly unit?: string;
}

function* rangeFindings(
  { label, shown, unit = "" }: NamedNumber,
  { warning, critical }: { readonly warning?: Range | undefined; readonly critical?: Range | undefined },
): Generator<Finding> {
  for (const [condition, range] of [["critical", critical], ["warning", warning]] as const) {
    if (range === undefined || !violatesRange(Number(shown), range)) continue;
    yield { condition, reason: `${label} is ${shown}${unit}, ${condition} ${describeRange(range)}` };
    return;
  }
}
