import {
  CONDITIONS,
  countedAs,
  highestSeverity,
  mostUrgentFirst,
  SHOWN_CONDITIONS,
  type ShownCondition,
} from "../../domain/condition.ts";
import { counted, printable, truncateBytes } from "../../shared/text.ts";
import { type Format, type FormatOptions, NO_RESULT, type RunSummary } from "./format.ts";
import {
  formatPerformanceDatum,
  parsePerformanceData,
  type PerformanceDatum,
  plainNumber,
} from "../../shared/performance_data.ts";

/** Cores keep about this much of a plugin's text; the performance data behind it is not counted. */
const STATUS_BYTES_MAX = 4096;
/** The most text of one check in the status line, so that it does not displace the others. */
const PROBLEM_BYTES_MAX = 300;
const LINE_BYTES_MAX = 4096;
const encoder = new TextEncoder();
const bytes = (text: string): number => encoder.encode(text).length;

/** A check that is not ok, in the words of the status line. */
type Problem = Readonly<Record<"word" | "name" | "output", string>>;

export interface PluginItem {
  readonly name: string;
  readonly condition: ShownCondition;
  /** One line for people; may be empty. */
  readonly output: string;
  /** The duration of the run; `null`: no run has current numbers. */
  readonly durationMs: number | null;
  /** A plugin's own text after `|`. */
  readonly performanceData: string;
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * The whole run as the output of one plugin (Monitoring Plugins Development Guidelines, "Plugin Output" and
 * "Performance data"): a status line with performance data, then a line for each problem, highest severity first. The
 * status word matches the exit code, so it ignores conditions that `--fail-on` excludes.
 */
export const pluginFormat: Format = {
  summary: (summary, { fails }) => {
    const items = summary.records.map(({ result }) => ({ ...result, name: result.check.name }));
    return renderPlugin({ ...summary, items, counted: CONDITIONS, notes: [] }, fails);
  },
};

export function renderPlugin(report: PluginReport, fails: FormatOptions["fails"]): string {
  const problems = findProblems(report);
  const status = statusLine(report, problems, fails);
  const performance = performanceData(report).map(formatPerformanceDatum).join(" ");
  const lines = problems.map(({ word, name, output }) =>
    truncateBytes(`${word} ${name}${output === "" ? "" : `: ${output}`}`, LINE_BYTES_MAX)
  );
  return [`${status} | ${performance}`, ...lines].map((line) => `${line}\n`).join("");
}

interface PluginReport extends Pick<RunSummary, "condition" | "reason" | "unfinished"> {
  readonly items: readonly PluginItem[];
  /** The conditions whose checks are counted in the performance data. */
  readonly counted: readonly ShownCondition[];
  /** Facts about the monitor, one line each, before the counts. */
  readonly notes: readonly string[];
}

function findProblems({ items, unfinished }: PluginReport): readonly Problem[] {
  const problems = items
    .filter((item) => item.condition !== "ok")
    .toSorted((one, other) => mostUrgentFirst(one.condition, other.condition));
  return [
    ...problems.map(({ name, condition, output }) => (
      { word: condition.toUpperCase(), name: plain(name), output: plain(output) }
    )),
    ...unfinished.map((name) => ({ word: "UNKNOWN", name: plain(name), output: NO_RESULT })),
  ];
}

function statusLine(answer: PluginReport, problems: readonly Problem[], fails: FormatOptions["fails"]) {
  const { items, unfinished, notes } = answer;
  const known = [answer.condition, ...items.map((item) => countedAs(item.condition))];
  if (unfinished.length > 0) known.push("unknown");
  const texts = [...notes.map((note) => truncateBytes(plain(note), PROBLEM_BYTES_MAX)), countText(answer)];
  const head = `MONITOR ${highestSeverity(known.filter(fails)).toUpperCase()} - ${texts.join("; ")}`;
  let line = head;
  for (const [index, problem] of problems.entries()) {
    const name = truncateBytes(problem.name, PROBLEM_BYTES_MAX);
    const output = problem.output === "" ? "" : ` (${truncateBytes(problem.output, PROBLEM_BYTES_MAX)})`;
    const next = `${line}${index === 0 ? ":" : ","} ${name}${output}`;
    const rest = problems.length - index;
    // The words that would take its place must fit behind the line as it is.
    if (bytes(next) > STATUS_BYTES_MAX - `, and ${rest} more`.length) return `${line}, and ${rest} more`;
    line = next;
  }
  return line;
}

/** Such as `2 of 5 checks critical, 1 warning`. */
function countText({ items, unfinished, reason }: PluginReport): string {
  const total = items.length + unfinished.length;
  if (reason !== null) return plain(reason);
  const parts = SHOWN_CONDITIONS.toReversed()
    .map((condition) => ({ count: countOf(items, condition), word: condition as string }))
    .filter(({ count, word }) => word !== "ok" && count > 0);
  if (unfinished.length > 0) parts.push({ count: unfinished.length, word: "without a result" });
  const checks = counted(total, "check");
  const [first, ...others] = parts;
  if (first === undefined) return `${checks} ok`;
  const rest = others.map(({ count, word }) => `, ${count} ${word}`);
  return `${first.count} of ${checks} ${first.word}${rest.join("")}`;
}

function countOf(items: readonly PluginItem[], wanted: ShownCondition): number {
  return items.filter(({ condition }) => condition === wanted).length;
}

/** The counts first: a core that keeps only so much cuts at the end. */
function performanceData({ items, unfinished, counted }: PluginReport): readonly PerformanceDatum[] {
  const total = String(items.length + unfinished.length);
  const counts = counted.map((condition) => {
    const value = String(countOf(items, condition));
    return { label: condition, value, unit: "", limits: ["", "", "0", total] };
  });
  return withUniqueLabels([...counts, ...items.flatMap(itemPerformanceData)]);
}

/** A check's duration, its own performance data and its metrics, each label behind the check's name. */
function itemPerformanceData(item: PluginItem): readonly PerformanceDatum[] {
  if (item.durationMs === null) return [];
  // A label must not contain an equals sign: a core reads the first one as its end.
  const datum = (own: string, value: string, unit = "", limits: readonly string[] = []) => (
    { label: plain(`${item.name}::${own}`).replaceAll("=", "_"), value, unit, limits }
  );
  const metrics = Object.entries(item.metrics).filter(([, value]) => Number.isFinite(value));
  return [
    datum("duration", (item.durationMs / 1000).toFixed(3), "s"),
    ...parsePerformanceData(item.performanceData).map((own) =>
      datum(own.label, own.value, own.unit, own.limits)
    ),
    ...metrics.map(([name, value]) => datum(name, plainNumber(value))),
  ];
}

/** A core stores values with one label as one series, so the second `x` is named `x_2`. */
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

/** One line without the character that starts performance data. */
function plain(text: string): string {
  return printable(text).replaceAll("|", "¦").trim();
}
