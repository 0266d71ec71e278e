/** The table of a soak in Markdown, to be pasted into docs/development/guarantee_tests.md. */
import { megabytes, samplesIn } from "./judge_holdings.ts";
import { latenessIn } from "./judge_runs.ts";
import { type Judgement, median, quantile } from "./judgement.ts";
import type { SoakRecord, Span } from "./record.ts";

const ROWS = 6;
const COLUMNS = [
  "minutes",
  "resident MB",
  "anonymous MB",
  "descriptors",
  "children",
  "left by them",
  "threads",
  "processor %",
  "with programs %",
  "state MB",
  "runs/s",
  "ok / warning / critical / unknown",
  "late p50 ms",
  "late p99 ms",
  "notifications waiting",
];

/** What each part of the soak was like, a row each, and the judgements. */
export function tableText(record: SoakRecord, judgements: readonly Judgement[]): string {
  const lengthMs = (record.untilMs - record.fromMs) / ROWS;
  const spans = Array.from({ length: ROWS }, (_, index) => ({
    fromMs: record.fromMs + index * lengthMs,
    untilMs: record.fromMs + (index + 1) * lengthMs,
  }));
  return [
    ...table(COLUMNS, spans.map((span) => rowOf(span, record))),
    "",
    ...table(
      ["what must hold", "", "found"],
      judgements.map(({ what, holds, found }) => [
        what,
        holds === null ? "too short to tell" : holds ? "holds" : "FAILS",
        found,
      ]),
    ),
  ].join("\n");
}

function rowOf(span: Span, record: SoakRecord): readonly string[] {
  const samples = samplesIn(span, record);
  const middle = (of: (sample: typeof samples[number]) => number): number => median(samples.map(of));
  const most = (of: (sample: typeof samples[number]) => number): number => Math.max(0, ...samples.map(of));
  const first = samples[0];
  const last = samples.at(-1);
  const share = (of: (sample: typeof samples[number]) => number): string =>
    first === undefined || last === undefined || first === last
      ? "-"
      : (100 * (of(last) - of(first)) / (last.atMs - first.atMs)).toFixed(1);
  const runs = record.runs.filter(({ startedMs }) => startedMs >= span.fromMs && startedMs < span.untilMs);
  const counted = (condition: string): string =>
    String(runs.filter((run) => run.condition === condition).length);
  const late = latenessIn(span, record);
  const minute = (atMs: number): string => ((atMs - record.fromMs) / 60_000).toFixed(1).replace(/\.0$/, "");
  return [
    `${minute(span.fromMs)}–${minute(span.untilMs)}`,
    megabytes(middle(({ residentBytes }) => residentBytes)),
    megabytes(middle(({ anonymousBytes }) => anonymousBytes)),
    `${middle(({ descriptors }) => descriptors)} (most ${most(({ descriptors }) => descriptors)})`,
    `${middle(({ children }) => children)} (most ${most(({ children }) => children)})`,
    String(most(({ orphans }) => orphans)),
    String(most(({ threads }) => threads)),
    share(({ cpuMs }) => cpuMs),
    share(({ cpuMs, childrenCpuMs }) => cpuMs + childrenCpuMs),
    megabytes(last?.stateBytes ?? NaN),
    (runs.length / ((span.untilMs - span.fromMs) / 1000)).toFixed(1),
    ["ok", "warning", "critical", "unknown"].map(counted).join(" / "),
    quantile(late, 0.5).toFixed(1),
    quantile(late, 0.99).toFixed(1),
    `${middle(({ pendingNotifications }) => pendingNotifications)} (most ${
      most(({ pendingNotifications }) => pendingNotifications)
    })`,
  ];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]): string =>
    `| ${
      cells.map((cell) => cell.replace(/\bNaN\b/g, "-").replace(/\s+/g, " ").replaceAll("|", "\\|")).join(
        " | ",
      )
    } |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)];
}
