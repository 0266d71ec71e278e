import { badness, type Condition, CONDITIONS, worst } from "../../domain/condition.ts";
import { printable } from "../printable.ts";
import { countConditions } from "./counts.ts";
import type { Format, FormatOptions, RunRecord, RunSummary } from "./format.ts";
import {
  formatPerformanceDatum,
  parsePerformanceData,
  type PerformanceDatum,
  plainNumber,
} from "./performance_data.ts";
import { NO_RESULT } from "./unfinished.ts";

/** Cores keep about this much of a plugin's text; the performance data behind it is not counted. */
const STATUS_BYTES_MAX = 4096;
/** What one check may take of the status line, so that it does not push out the others. */
const PROBLEM_BYTES_MAX = 300;
const LINE_BYTES_MAX = 4096;

/** A check that is not ok, in the words of the status line. */
interface Problem {
  readonly word: string;
  readonly name: string;
  readonly output: string;
}

/**
 * The whole run as the answer of one plugin (Monitoring Plugins Development Guidelines, "Plugin Output" and
 * "Performance data"): a status line with performance data, then a line for each problem, worst first. The status
 * word goes with the exit code, so it leaves out what `--fail-on` lets pass.
 */
export const pluginFormat: Format = {
  record: () => "",
  summary: (summary, options) => {
    const problems = findProblems(summary);
    const status = statusLine(summary, problems, options);
    const performance = performanceData(summary).map(formatPerformanceDatum).join(" ");
    const lines = problems.map((problem) =>
      cut(
        `${problem.word} ${problem.name}${problem.output === "" ? "" : `: ${problem.output}`}`,
        LINE_BYTES_MAX,
      )
    );
    return [`${status} | ${performance}`, ...lines].map((line) => `${line}\n`).join("");
  },
};

function findProblems(summary: RunSummary): readonly Problem[] {
  const records = summary.records
    .filter((record) => record.result.condition !== "ok")
    .toSorted((a, b) => badness(b.result.condition) - badness(a.result.condition));
  return [
    ...records.map(({ result }) => ({
      word: result.condition.toUpperCase(),
      name: plain(result.check.name),
      output: plain(result.output),
    })),
    ...summary.unfinished.map((name) => ({ word: "UNKNOWN", name: plain(name), output: NO_RESULT })),
  ];
}

function statusLine(summary: RunSummary, problems: readonly Problem[], options: FormatOptions): string {
  const conditions: Condition[] = summary.records.map((record) => record.result.condition);
  const failing = conditions.filter(options.fails);
  if (summary.unfinished.length > 0) failing.push("unknown");
  const head = `MONITOR ${worst(failing).toUpperCase()} - ${countText(summary)}`;
  let line = head;
  for (const [index, problem] of problems.entries()) {
    const output = problem.output === "" ? "" : ` (${cut(problem.output, PROBLEM_BYTES_MAX)})`;
    const next = `${line}${index === 0 ? ":" : ","} ${cut(problem.name, PROBLEM_BYTES_MAX)}${output}`;
    const rest = problems.length - index;
    // The words that would take its place must fit behind the line as it is.
    if (bytes(next) > STATUS_BYTES_MAX - `, and ${rest} more`.length) return `${line}, and ${rest} more`;
    line = next;
  }
  return line;
}

/** Such as `2 of 5 checks critical, 1 warning`. */
function countText(summary: RunSummary): string {
  const total = summary.records.length + summary.unfinished.length;
  if (total === 0) return "no checks ran";
  const counts = countConditions(summary.records);
  const parts = CONDITIONS.toReversed().filter((condition) => condition !== "ok" && counts[condition] > 0)
    .map((condition) => ({ count: counts[condition], word: condition as string }));
  if (summary.unfinished.length > 0) {
    parts.push({ count: summary.unfinished.length, word: "without a result" });
  }
  const checks = total === 1 ? "check" : "checks";
  const [first, ...others] = parts;
  if (first === undefined) return `${total} ${checks} ok`;
  return [
    `${first.count} of ${total} ${checks} ${first.word}`,
    ...others.map((part) => `${part.count} ${part.word}`),
  ]
    .join(", ");
}

/** The counts first: a core that keeps only so much cuts at the end. */
function performanceData(summary: RunSummary): readonly PerformanceDatum[] {
  const total = String(summary.records.length + summary.unfinished.length);
  const counts = countConditions(summary.records);
  return withUniqueLabels([
    ...CONDITIONS.map((condition) => ({
      label: condition,
      value: String(counts[condition]),
      unit: "",
      limits: ["", "", "0", total],
    })),
    ...summary.records.flatMap(checkPerformanceData),
  ]);
}

/** A check's duration, its own performance data and its metrics, each label behind the check's name. */
function checkPerformanceData({ result }: RunRecord): readonly PerformanceDatum[] {
  const label = (own: string) => labelText(`${result.check.name}::${own}`);
  const metrics = Object.entries(result.metrics).filter(([, value]) => Number.isFinite(value));
  return [
    { label: label("duration"), value: (result.durationMs / 1000).toFixed(3), unit: "s", limits: [] },
    ...parsePerformanceData(result.performanceData).map((datum) => ({ ...datum, label: label(datum.label) })),
    ...metrics.map(([name, value]) => ({
      label: label(name),
      value: plainNumber(value),
      unit: "",
      limits: [],
    })),
  ];
}

/** A core takes items of one label for one series, so the second `x` is called `x_2`. */
function withUniqueLabels(data: readonly PerformanceDatum[]): readonly PerformanceDatum[] {
  const nextNumbers = new Map<string, number>();
  return data.map((datum) => {
    let label = datum.label;
    let number = nextNumbers.get(label) ?? 1;
    while (nextNumbers.has(label)) {
      number += 1;
      label = `${datum.label}_${number}`;
    }
    nextNumbers.set(datum.label, number);
    nextNumbers.set(label, nextNumbers.get(label) ?? 1);
    return { ...datum, label };
  });
}

/** A label may hold no equals sign: a core takes the first one for its end. */
function labelText(text: string): string {
  return plain(text).replaceAll("=", "_");
}

/** One line without the character that starts performance data. */
function plain(text: string): string {
  return printable(text).replaceAll("|", "¦").trim();
}

const encoder = new TextEncoder();

function bytes(text: string): number {
  return encoder.encode(text).length;
}

/** Cuts a text to so many bytes of UTF-8, an ellipsis at the end included. */
function cut(text: string, bytesMax: number): string {
  const whole = encoder.encodeInto(text, new Uint8Array(bytesMax));
  if (whole.read === text.length) return text;
  const { read } = encoder.encodeInto(text, new Uint8Array(bytesMax - bytes("…")));
  return `${text.slice(0, read)}…`;
}
