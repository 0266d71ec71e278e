import { textWidth } from "./text_width.ts";

/**
 * Breaks one line of printable text into lines of at most `columns` columns: at spaces where it can, else inside a word.
 * Nothing is lost but the spaces at a break; an empty text is one empty line.
 */
export function wrap(text: string, columns: number): readonly string[] {
  if (textWidth(text) <= columns) return [text];
  const measure = createMeasure();
  const lines: string[] = [];
  let line = "";
  let lineColumns = 0;
  const flush = () => {
    if (line.trimEnd() !== "") lines.push(line.trimEnd());
    line = "";
    lineColumns = 0;
  };
  const append = (piece: string) => {
    const pieceColumns = measure(piece);
    if (lineColumns + pieceColumns > columns) flush();
    line += piece;
    lineColumns += pieceColumns;
  };
  for (const word of words(text)) {
    const wordColumns = measure(word);
    const isGap = word.startsWith(" ");
    if (isGap && (lineColumns + wordColumns > columns || (line === "" && lines.length > 0))) flush();
    else if (wordColumns <= columns) append(word);
    else for (const piece of pieces(word, { columns, measure })) append(piece);
  }
  flush();
  return lines.length > 0 ? lines : [""];
}

/** Fills a text with spaces to a width; a wider one stays as it is. */
export function pad(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - textWidth(text)));
}

type Measure = (text: string) => number;

const MEMORY_ENTRIES_MAX = 10_000;
const MEMORY_LENGTH_MAX = 32;

/** Width in terminal columns, cached for short texts: measuring one takes microseconds, and texts repeat. */
function createMeasure(): Measure {
  const known = new Map<string, number>();
  return (text) => {
    if (text.length > MEMORY_LENGTH_MAX) return textWidth(text);
    const width = known.get(text) ?? textWidth(text);
    if (known.size < MEMORY_ENTRIES_MAX) known.set(text, width);
    return width;
  };
}

/** Words and the spaces between them, in turn. A regular expression would overflow on a word of megabytes. */
function* words(text: string): Generator<string> {
  let start = 0;
  while (start < text.length) {
    let end = start;
    if (text[start] === " ") { while (text[end] === " ") end += 1; }
    else end = text.indexOf(" ", start);
    if (end < 0) end = text.length;
    yield text.slice(start, end);
    start = end;
  }
}

/** The parts that a long word may be broken into: whole lines of ASCII, else grapheme clusters. */
function* pieces(word: string, options: { readonly columns: number; readonly measure: Measure }) {
  const { columns, measure } = options;
  if (!/[^\x20-\x7e]/.test(word)) {
    for (let start = 0; start < word.length; start += columns) yield word.slice(start, start + columns);
    return;
  }
  for (const { segment } of new Intl.Segmenter("en", { granularity: "grapheme" }).segment(word)) {
    // Some clusters of some scripts are wider than a narrow column.
    if (measure(segment) <= columns) yield segment;
    else yield* segment;
  }
}
