import { counted, firstItems, printable, printableBlock, truncate } from "../../shared/text.ts";
import { CONDITIONS, SHOWN_CONDITIONS, type ShownCondition } from "../../domain/condition.ts";
import { type Colors, createColors } from "../terminal.ts";
import { durationText } from "../../shared/time_units.ts";
import { type Format, NO_RESULT, type RunRecord, type RunSummary } from "./format.ts";
import { pad, textWidth, wrap } from "../../shared/wrap.ts";

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
    const end = wrapTo([line], columns);
    return [...table, ...(table.length > 0 ? [""] : []), ...end].map((line) => `${line}\n`).join("");
  },
};

/** Lowest severity first, within one in the config's order; checks without a result are before `unknown`. */
function makeRows(summary: RunSummary, colors: Colors): readonly TableRow[] {
  const unfinished = { word: "-", paint: colors.dim, duration: "", output: NO_RESULT, detail: [] };
  return CONDITIONS.flatMap((condition) => [
    ...(condition === "unknown"
      ? summary.unfinished.map((name) => ({ ...unfinished, name: printable(name) }))
      : []),
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

/** Such as `3 checks: 2 ok, 1 critical in 1.2 s, 1 inactive`. */
function summaryLine(summary: RunSummary, colors: Colors): string {
  const inactive = summary.inactiveCount > 0 ? `, ${summary.inactiveCount} inactive` : "";
  if (summary.reason !== null) {
    return `${conditionPaints(colors)[summary.condition](summary.condition)}: ${summary.reason}${inactive}`;
  }
  const names = summary.unfinished.map((name) => truncate(printable(name), UNFINISHED_NAME_LENGTH_MAX));
  const unfinished = firstItems(names, UNFINISHED_NAMES_MAX).join(", ");
  const parts = [
    ...conditionCounts(summary.records.map(({ result }) => result.condition), colors),
    ...names.length > 0 ? [`${names.length} without a result (${unfinished})`] : [],
  ];
  const total = summary.records.length + summary.unfinished.length;
  return `${counted(total, "check")}: ${parts.join(", ")} in ${durationText(summary.durationMs)}${inactive}`;
}

/** Longer outputs and details are truncated with a mark: the most severe checks must stay visible. */
const LINES_MAX = 10;
/** With less space than this, the output is below the name instead of alongside it. */
const OUTPUT_COLUMNS_MIN = 28;
/** A single long name does not push all outputs away: off a terminal it sticks out, on one it wraps. */
const NAME_COLUMNS_MAX = 60;
/** The most of a terminal's width that names take. */
const NAME_SHARE = 0.35;
const WORD_COLUMNS_MIN = "CRITICAL".length;
const GAP = "  ";
/** A smaller width of a terminal is taken for an error. */
const COLUMNS_MIN = 20;
const BELOW_INDENT = "    ";

/** One row of the table. All texts are printable, and none but those of `detail` has line breaks. */
export interface TableRow {
  /** At most as wide as `CRITICAL`. */
  readonly word: string;
  readonly paint: (text: string) => string;
  /** Wraps on a terminal, and is never cut. */
  readonly name: string;
  /** May be empty. */
  readonly duration: string;
  /** May be empty. */
  readonly output: string;
  readonly detail: readonly string[];
}

export interface TableOptions {
  readonly colors: Colors;
  /** The terminal's width; `null` off a terminal, where nothing is wrapped. */
  readonly columns: number | null;
  readonly header?: TableHeader;
}

/** Words above the columns. If the durations are below the names, their heading is before each of them. */
type TableHeader = Readonly<Record<"word" | "name" | "duration" | "output", string>>;

/** The width to lay out for; `null` off a terminal. */
export function believableColumns(columns: number | null): number | null {
  return columns === null ? null : Math.max(columns, COLUMNS_MIN);
}

type Layout = ReturnType<typeof chooseLayout>;

/**
 * Lays out rows as lines: word, name, duration and output in columns, detail below. On a terminal each text wraps
 * within its column, and if that leaves too little space, duration and output are below the name. At most ten lines
 * of an output and of a detail are shown.
 */
export function renderTable(rows: readonly TableRow[], options: TableOptions): readonly string[] {
  const { header, colors } = options;
  const layout = chooseLayout(rows, options);
  const lines = rows.flatMap((row) => {
    const hasWord = layout.stacked && header !== undefined && row.duration !== "";
    const shown = hasWord ? { ...row, duration: `${header.duration} ${row.duration}` } : row;
    return renderRow(shown, { layout, colors });
  });
  if (header === undefined || layout.stacked || rows.length === 0) return lines;
  const { wordColumns, nameColumns, durationColumns } = layout;
  const duration = header.duration.padStart(durationColumns);
  const cells = [pad(header.word, wordColumns), pad(header.name, nameColumns), duration, header.output];
  return [colors.dim(cells.join(GAP)), ...lines];
}

/** The widths of columns; `wrapped`: those of each text, `null` off a terminal, where nothing is wrapped. */
function chooseLayout(rows: readonly TableRow[], options: TableOptions) {
  const widest = (texts: readonly string[]) =>
    texts.reduce((width, text) => Math.max(width, textWidth(text)), 0);
  const { columns, header } = options;
  const names = [...rows.map((row) => row.name), header?.name ?? ""];
  const nameColumns = Math.min(widest(names), NAME_COLUMNS_MAX);
  const wordColumns = Math.max(WORD_COLUMNS_MIN, header?.word.length ?? 0);
  const durationColumns = widest([...rows.map((row) => row.duration), header?.duration ?? ""]);
  if (columns === null) return { wordColumns, nameColumns, durationColumns, wrapped: null, stacked: false };
  const belowColumns = columns - BELOW_INDENT.length;
  const columnsInRow = Math.min(nameColumns, Math.floor(columns * NAME_SHARE));
  const outputColumns = columns - wordColumns - columnsInRow - durationColumns - 3 * GAP.length;
  if (outputColumns >= OUTPUT_COLUMNS_MIN) {
    const wrapped = { nameColumns: columnsInRow, outputColumns, belowColumns };
    return { wordColumns, nameColumns: columnsInRow, durationColumns, wrapped, stacked: false };
  }
  const restColumns = columns - wordColumns - GAP.length;
  const wrapped = { nameColumns: restColumns, outputColumns: belowColumns, belowColumns };
  return { wordColumns, nameColumns: 0, durationColumns: 0, wrapped, stacked: true };
}

function renderRow(row: TableRow, { layout, colors }: { readonly layout: Layout; readonly colors: Colors }) {
  const names = wrapTo([row.name], layout.wrapped?.nameColumns ?? null);
  const output = layout.stacked && row.duration !== ""
    ? `${row.duration}${GAP}${row.output}`.trimEnd()
    : row.output;
  const outputs = limitLines(wrapTo([output], layout.wrapped?.outputColumns ?? null), colors);
  const detail = limitLines(wrapTo(row.detail, layout.wrapped?.belowColumns ?? null), colors);
  const inRow = layout.stacked ? [] : outputs;
  const below = [...(layout.stacked && output !== "" ? outputs : []), ...detail];
  const lines = Array.from({ length: Math.max(names.length, inRow.length) }, (_, index) => {
    const [word, duration] = index > 0 ? ["", ""] : [row.word, layout.stacked ? "" : row.duration];
    return [
      row.paint(word) + " ".repeat(layout.wordColumns - word.length),
      pad(names[index] ?? "", layout.nameColumns),
      " ".repeat(layout.durationColumns - duration.length) + colors.dim(duration),
      inRow[index] ?? "",
    ].join(GAP);
  });
  return [...lines, ...below.map((line) => BELOW_INDENT + line)].map((line) => line.trimEnd());
}

/** Wraps lines; `null`: not at all. */
export function wrapTo(lines: readonly string[], columns: number | null): readonly string[] {
  return columns === null ? lines : lines.flatMap((line) => wrap(line, columns));
}

function limitLines(lines: readonly string[], colors: Colors): readonly string[] {
  const rest = lines.length - LINES_MAX;
  if (rest <= 0) return lines;
  return [...lines.slice(0, LINES_MAX), colors.dim(`… ${counted(rest, "more line")}`)];
}

export function conditionPaints(colors: Colors): Readonly<Record<ShownCondition, (text: string) => string>> {
  return {
    ok: colors.green,
    pending: colors.cyan,
    unknown: colors.bold,
    warning: colors.yellow,
    critical: (text) => colors.bold(colors.red(text)),
  };
}

/** Returns the painted count of each condition that occurs, such as `2 ok` and `1 critical`. */
export function conditionCounts(conditions: readonly ShownCondition[], colors: Colors): readonly string[] {
  const paints = conditionPaints(colors);
  return SHOWN_CONDITIONS.flatMap((condition) => {
    const count = conditions.filter((other) => other === condition).length;
    return count === 0 ? [] : [paints[condition](`${count} ${condition}`)];
  });
}
