import type { Report } from "../domain/report.ts";

/** The console channel: a line for each report. */
export const consoleKind = {
  deliver: (report: Report, context: { writeLine(line: string): void }): void =>
    context.writeLine(describeReport(report)),
};

const EVENT_WORDS: Readonly<Record<Report["event"], string>> = {
  problem: "",
  change: ", changed",
  recovery: ", recovered",
  reminder: ", still",
};

/** A report as one line of text, for people; control characters of the check's output are the writer's business. */
export function describeReport(report: Report): string {
  const { check, title, event, condition, previous, output, occurrences, problemBeganAtMs, decidedAtMs } =
    report;
  const name = title === null || title === check ? check : `${title} (${check})`;
  const began = isoSeconds(problemBeganAtMs);
  const history = event === "recovery"
    ? `was ${previous} since ${began}`
    : event === "reminder"
    ? `since ${began}`
    : `was ${previous}, seen ${occurrences === 1 ? "once" : `${occurrences} times`} since ${began}`;
  const told = output === "" ? "no output" : output;
  return `${isoSeconds(decidedAtMs)} ${condition.toUpperCase()}${
    EVENT_WORDS[event]
  }: ${name}: ${told} (${history})`;
}

/** UTC to the second, as in `2026-01-31T10:00:00Z`. */
function isoSeconds(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
