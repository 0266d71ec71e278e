/**
 * A line of bash up to the cursor: its words without their quotes, and the position from which readline replaces the
 * last of them. bash passes a completion the words in pieces, split at every colon, with their quotes. Removing these
 * in bash would need `eval`, which would run an unfinished command.
 */
export interface BashLine {
  /** Without quotes and backslashes; the last one is at the cursor, and may be empty. */
  readonly words: readonly string[];
  /** How many characters of the last word are before the part that readline replaces. */
  readonly keptLength: number;
  /** The quote that is open at the cursor. */
  readonly quote: "" | '"' | "'";
}

/** Splits a line; `breaks` is `COMP_WORDBREAKS`. */
export function readBashLine(line: string, breaks: string): BashLine {
  const words: string[] = [];
  let word = "";
  let isBegun = false;
  let kept = 0;
  let keptOutside = 0;
  let quote: BashLine["quote"] = "";
  let isEscaped = false;
  for (const character of line) {
    if (isEscaped) {
      // Between double quotes a backslash is literal before most characters.
      word += quote === '"' && !'$`"\\'.includes(character) ? `\\${character}` : character;
      isEscaped = false;
    } else if (character === "\\" && quote !== "'") {
      isEscaped = isBegun = true;
    } else if (quote !== "") {
      if (character === quote) {
        quote = "";
        kept = keptOutside;
      } else word += character;
    } else if (character === '"' || character === "'") {
      quote = character;
      isBegun = true;
      keptOutside = kept;
      kept = word.length;
    } else if (/\s/.test(character)) {
      if (isBegun) words.push(word);
      word = "";
      isBegun = false;
      kept = 0;
    } else {
      word += character;
      isBegun = true;
      if (breaks.includes(character)) kept = word.length;
    }
  }
  return { words: [...words, word], keptLength: kept, quote };
}

/** Quotes a text so that bash reads one word, or the continuation of an open quote, which is not closed. */
export function quoteForBash(text: string, quote: BashLine["quote"]): string {
  if (quote === "'") return text.replaceAll("'", "'\\''");
  // An exclamation mark would be replaced from the history, and a backslash does not escape it between double quotes.
  if (quote === '"') return text.replace(/[$`"\\]/g, "\\$&").replaceAll("!", `"'!'"`);
  return text.replace(
    /[\x20-\x7e]/g,
    (character) => /[\w./,+@%=:^-]/.test(character) ? character : `\\${character}`,
  );
}
