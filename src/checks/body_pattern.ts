/** How many steps of a pattern's program may be tried in one go: as long as that lasts, nothing else can run. */
const TRIES_MAX = 5_000_000;

/** What to look for, and in what. */
interface PatternSearchOptions {
  /** A regular expression in RE2 syntax. */
  readonly pattern: string;
  readonly isWhole: boolean;
}

/** What a search for a pattern showed. */
export interface PatternSearch {
  readonly found: boolean;
  /** How many characters were searched where that was not all; `null`: all. */
  readonly searchedLength: number | null;
}

/**
 * Searches a text for a regular expression in RE2 syntax.
 *
 * RE2's matching takes time in proportion to the length of the text and, at worst, to the size of the pattern's
 * program, whatever the text is. A worker would not do instead: the runtime cannot end one that is busy. So what is
 * searched is bounded by both, and one search lasts some 50 ms at worst. The library is loaded only here.
 */
export async function searchPattern(
  text: string,
  { pattern, isWhole }: PatternSearchOptions,
): Promise<PatternSearch> {
  const { RE2JS } = await import("re2js");
  const program = RE2JS.compile(pattern);
  const length = Math.min(text.length, Math.floor(TRIES_MAX / program.programSize()));
  if (isWhole && length === text.length) return { found: program.test(text), searchedLength: null };
  // The sign keeps `$` from taking the cut for the end.
  return { found: program.test(`${text.slice(0, length)}\ufffd`), searchedLength: length };
}
