import { lazily } from "./lazily.ts";
import { isPlain } from "./text.ts";

/**
 * Breaks one line of printable text into lines of at most `columns` columns: at spaces where it can, else inside a word.
 * Nothing is lost but the spaces at a break; an empty text is one empty line.
 */
export function wrap(text: string, columns: number): readonly string[] {
  if (textWidth(text) <= columns) return [text];
  const lines: string[] = [];
  let line = "";
  let lineColumns = 0;
  const flush = () => {
    if (line.trimEnd() !== "") lines.push(line.trimEnd());
    line = "";
    lineColumns = 0;
  };
  const append = (piece: string) => {
    const pieceColumns = textWidth(piece);
    if (lineColumns + pieceColumns > columns) flush();
    line += piece;
    lineColumns += pieceColumns;
  };
  // Words and the spaces between them, in turn.
  for (const word of text.split(/( +)/)) {
    const wordColumns = textWidth(word);
    const isGap = word.startsWith(" ");
    if (isGap && (lineColumns + wordColumns > columns || (line === "" && lines.length > 0))) flush();
    else if (wordColumns <= columns) append(word);
    else for (const piece of pieces(word, columns)) append(piece);
  }
  flush();
  return lines.length > 0 ? lines : [""];
}

/** Fills a text with spaces to a width; a wider one stays as it is. */
export function pad(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - textWidth(text)));
}

/** The parts that a long word may be broken into: whole lines of ASCII, else grapheme clusters. */
function* pieces(word: string, columns: number): Generator<string> {
  if (isPlain(word)) {
    for (let start = 0; start < word.length; start += columns) yield word.slice(start, start + columns);
    return;
  }
  for (const { segment } of new Intl.Segmenter("en", { granularity: "grapheme" }).segment(word)) {
    // Some clusters of some scripts are wider than a narrow column.
    if (textWidth(segment) <= columns) yield segment;
    else yield* segment;
  }
}

/**
 * Returns the number of terminal columns of a printable text: two for ideographs and emoji, none for colors and for
 * marks that combine with the character before them. Widths are those of Unicode's UAX #11; sequences that form one
 * emoji, those of UTS #51.
 *
 * This is our own because every run pays for it: npm's string-width names the property `RGI_Emoji` in a regular
 * expression and makes an `Intl.Segmenter`, and reading that data takes the engine as long as most of its start.
 */
export function textWidth(text: string): number {
  if (isPlain(text)) return text.length;
  let columns = 0;
  for (const { 0: piece, groups } of text.matchAll(sequences())) {
    if (groups?.["wide"] !== undefined) columns += 2;
    else if (groups?.["color"] === undefined && !invisible().test(piece)) columns += WIDE.test(piece) ? 2 : 1;
  }
  return columns;
}

/**
 * Sequences of code points with a common width: one emoji (a flag, a keycap, one with a skin tone or in emoji style,
 * several that are joined), or a color sequence. Else one code point, with the mark that
 * requests its text style. Nothing here can match in two ways, so hostile text costs no more than its length.
 */
const sequences = lazily(() =>
  new RegExp(
    [
      String.raw`(?<wide>\p{Regional_Indicator}{1,2}`,
      String.raw`[\d#*]\ufe0f\u20e3?`,
      String.raw`\p{Extended_Pictographic}(?:[\ufe0f\p{Emoji_Modifier}]|\u200d\p{Extended_Pictographic})+)`,
      String.raw`(?<color>\u001b\[[\d;]*m)`,
      String.raw`.\ufe0e?`,
    ].join("|"),
    "gsu",
  )
);

/**
 * Controls, joiners and marks, without the few (signs before Arabic numbers) that have a width; vowels and last letters of
 * Hangul, whose syllable is as wide as its first letter.
 */
const invisible = lazily(() =>
  /^(?![\u0600-\u0605\u06dd\u0890\u0891\u08e2\u{110bd}\u{110cd}])[\u1160-\u11ff\ud7b0-\ud7fb\p{Cc}\p{Cf}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}]/u
);

/** East Asian Width W and F of EastAsianWidth.txt (Unicode 17), with unassigned characters between them. */
const WIDE =
  /^(?:\p{Emoji_Presentation}(?!\ufe0e)|[\u1100-\u115f\u2329\u232a\u2630-\u2637\u268a-\u268f\u2e80-\u303e\u3041-\u3247\u3250-\ua4c6\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2fb}\u{1d300}-\u{1d376}\u{1f1ae}\u{1f200}-\u{1f265}\u{1f6d8}\u{1f6d9}\u{1f7da}\u{1fa70}-\u{1faff}\u{20000}-\u{3fffd}])/u;
