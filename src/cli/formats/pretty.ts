import { counted, printable, printableBlock, truncate } from "../../shared/text.ts";
import { CONDITIONS } from "../../domain/condition.ts";
import { type Colors, createColors } from "../terminal.ts";
import { durationText } from "../../shared/time_units.ts";
import { type Format, NO_RESULT, type RunRecord, type RunSummary } from "./format.ts";
import { believableColumns, conditionCounts, conditionPaints, renderTable, type TableRow } from "./table.ts";
import { wrap } from "../../shared/wrap.ts";

/** Maximum number of names without a result in the last line; the table has all of them. */
const UNFINISHED_NAMES_MAX = 5;
const UNFINISHED_NAME_LENGTH_MAX = 60;

/**
 * A table for people, lowest severity first, so that the highest is at the end, next to the prompt, and a summary
 * line. On a terminal, texts wrap within their column, or the output is below the name if there is too little space;
 * elsewhere nothing is wrapped.
 */
export const prettyFormat: Format = {
  summary: (summary, options) => {
    const colors = createColors(options.color);
    const columns = believableColumns(options.columns);
    const table = renderTable(makeRows(summary, colors), { columns, colors });
    const line = summaryLine(summary, colors);
    const end = columns === null ? [line] : wrap(line, columns);
    return [...table, ...(table.length > 0 ? [""] : []), ...end].map((line) => `${line}\n`).join("");
  },
};

/** Lowest severity first, within one in the config's order; checks without a result are before `unknown`. */
function makeRows(summary: RunSummary, colors: Colors): readonly TableRow[] {
  return CONDITIONS.flatMap((condition) => [
    ...(condition === "unknown" ? summary.unfinished.map((name) => unfinishedRow(name, colors)) : []),
    ...summary.records.filter((record) => record.result.condition === condition)
      .map((record) => finishedRow(record, colors)),
  ]);
}

function finishedRow({ result }: RunRecord, colors: Colors): TableRow {
  const { check, condition } = result;
  const name = printable(check.name);
  const detail = printableBlock(result.detail).trimEnd();
  return {
    word: condition.toUpperCase(),
    paint: conditionPaints(colors)[condition],
    name: check.title === undefined ? name : `${name} (${printable(check.title)})`,
    duration: durationText(result.durationMs),
    output: printable(result.output).trim(),
    detail: condition === "ok" || detail === "" ? [] : detail.split("\n"),
  };
}

function unfinishedRow(name: string, colors: Colors): TableRow {
  const row = { word: "-", paint: colors.dim, name: printable(name) };
  return { ...row, duration: "", output: NO_RESULT, detail: [] };
}

/** Such as `3 checks: 2 ok, 1 critical in 1.2 s, 1 inactive`. */
function summaryLine(summary: RunSummary, colors: Colors): string {
  const inactive = summary.inactiveCount > 0 ? `, ${summary.inactiveCount} inactive` : "";
  if (summary.reason !== null) {
    return `${conditionPaints(colors)[summary.condition](summary.condition)}: ${summary.reason}${inactive}`;
  }
  const parts = [
    ...conditionCounts(summary.records.map(({ result }) => result.condition), colors),
    ...summary.unfinished.length > 0 ? [unfinishedText(summary.unfinished)] : [],
  ];
  const total = summary.records.length + summary.unfinished.length;
  return `${counted(total, "check")}: ${parts.join(", ")} in ${durationText(summary.durationMs)}${inactive}`;
}

function unfinishedText(names: readonly string[]): string {
  const shown = names.slice(0, UNFINISHED_NAMES_MAX)
    .map((name) => truncate(printable(name), UNFINISHED_NAME_LENGTH_MAX));
  const rest = names.length - shown.length;
  return `${names.length} without a result (${[...shown, ...(rest > 0 ? [`${rest} more`] : [])].join(", ")})`;
}
