import type { Colours } from "../colour.ts";
import { textWidth } from "../text_width.ts";
import { pad, wrap } from "./wrap.ts";

/** Longer outputs and details are cut here, and the cut is said: the worst checks must stay in sight. */
const LINES_MAX = 10;
/** With less room than this the output stands below the name instead of beside it. */
const OUTPUT_COLUMNS_MIN = 28;
/** Off a terminal names are not cut, but a single long one does not push all outputs away. */
const NAME_COLUMNS_MAX = 60;
/** The most of a terminal's width that names take. */
const NAME_SHARE = 0.35;
const WORD_COLUMNS = "CRITICAL".length;
const GAP = "  ";
const BELOW_INDENT = "    ";

/** One row of the table. All texts are printable, and none but those of `detail` has line breaks. */
export interface TableRow {
  /** At most as wide as `CRITICAL`. */
  readonly word: string;
  /** Colours the word. */
  readonly paint: (text: string) => string;
  /** Wraps on a terminal, and is never cut. */
  readonly name: string;
  /** May be empty. */
  readonly duration: string;
  /** May be empty. */
  readonly output: string;
  /** Lines below the row. */
  readonly detail: readonly string[];
}

/** Where a table is shown. */
export interface TableOptions {
  /** What sets the words off. */
  readonly colours: Colours;
  /** The terminal's width; `null` off a terminal, where nothing is wrapped. */
  readonly columns: number | null;
}

/** Where the columns of the table are. */
interface Layout {
  readonly nameColumns: number;
  readonly durationColumns: number;
  /** The width of each wrapped text; `null` off a terminal, where nothing is wrapped. */
  readonly wrapped: {
    readonly nameColumns: number;
    readonly outputColumns: number;
    readonly belowColumns: number;
  } | null;
  /** Whether duration and output stand below the name. */
  readonly stacked: boolean;
}

/**
 * Lays out rows as lines: word, name, duration and output in columns, detail below. On a terminal each text
 * wraps within its column, and where that leaves too little room duration and output go below the name. At most
 * ten lines of an output and of a detail are shown.
 */
export function renderTable(rows: readonly TableRow[], options: TableOptions): readonly string[] {
  const layout = chooseLayout(rows, options);
  return rows.flatMap((row) => renderRow(row, { layout, colours: options.colours }));
}

function chooseLayout(rows: readonly TableRow[], options: TableOptions): Layout {
  const widest = (texts: readonly string[]) =>
    texts.reduce((width, text) => Math.max(width, textWidth(text)), 0);
  const nameColumns = widest(rows.map((row) => row.name));
  const durationColumns = widest(rows.map((row) => row.duration));
  const { columns } = options;
  if (columns === null) {
    return {
      nameColumns: Math.min(nameColumns, NAME_COLUMNS_MAX),
      durationColumns,
      wrapped: null,
      stacked: false,
    };
  }
  const belowColumns = columns - BELOW_INDENT.length;
  const besideColumns = Math.min(nameColumns, Math.floor(columns * NAME_SHARE));
  const outputColumns = columns - WORD_COLUMNS - besideColumns - durationColumns - 3 * GAP.length;
  if (outputColumns >= OUTPUT_COLUMNS_MIN) {
    const wrapped = { nameColumns: besideColumns, outputColumns, belowColumns };
    return { nameColumns: besideColumns, durationColumns, wrapped, stacked: false };
  }
  const wrapped = {
    nameColumns: columns - WORD_COLUMNS - GAP.length,
    outputColumns: belowColumns,
    belowColumns,
  };
  return { nameColumns: 0, durationColumns: 0, wrapped, stacked: true };
}

function renderRow(
  row: TableRow,
  look: { readonly layout: Layout; readonly colours: Colours },
): readonly string[] {
  const { layout, colours } = look;
  const names = wrapTo([row.name], layout.wrapped?.nameColumns ?? null);
  const output = layout.stacked && row.duration !== ""
    ? `${row.duration}${GAP}${row.output}`.trimEnd()
    : row.output;
  const outputs = limitLines(wrapTo([output], layout.wrapped?.outputColumns ?? null), colours);
  const detail = limitLines(wrapTo(row.detail, layout.wrapped?.belowColumns ?? null), colours);
  const beside = layout.stacked ? [] : outputs;
  const below = [...(layout.stacked && output !== "" ? outputs : []), ...detail];
  const lines = Array.from({ length: Math.max(names.length, beside.length) }, (_, index) =>
    [
      index === 0
        ? row.paint(row.word) + " ".repeat(WORD_COLUMNS - row.word.length)
        : " ".repeat(WORD_COLUMNS),
      pad(names[index] ?? "", layout.nameColumns),
      index === 0 && !layout.stacked && row.duration !== ""
        ? colours.dim(row.duration.padStart(layout.durationColumns))
        : " ".repeat(layout.durationColumns),
      beside[index] ?? "",
    ].join(GAP));
  return [...lines, ...below.map((line) => BELOW_INDENT + line)].map((line) => line.trimEnd());
}

function wrapTo(lines: readonly string[], columns: number | null): readonly string[] {
  return columns === null ? lines : lines.flatMap((line) => wrap(line, columns));
}

function limitLines(lines: readonly string[], colours: Colours): readonly string[] {
  const rest = lines.length - LINES_MAX;
  if (rest <= 0) return lines;
  return [...lines.slice(0, LINES_MAX), colours.dim(`… ${rest} more ${rest === 1 ? "line" : "lines"}`)];
}
