import { distance } from "fastest-levenshtein";

/** A longer word is never a misspelling; comparing takes quadratic time. */
const WORD_LENGTH_MAX = 100;

/**
 * The candidate nearest to a misspelt word, if one is near enough to be meant: a few letters off, longer by a word
 * (`status` for `status_code`), or shortened (`args` for `arguments`).
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > WORD_LENGTH_MAX) return undefined;
  let best: string | undefined;
  let bestDistance = (word.length <= 3 ? 1 : Math.max(2, Math.floor(word.length / 3))) + 1;
  const lower = word.toLowerCase();
  for (const candidate of candidates) {
    // Each additional or missing letter is a change, so the length alone excludes most words.
    if (Math.abs(candidate.length - word.length) > bestDistance + 1) continue;
    const other = candidate.toLowerCase();
    const found = distance(lower, other);
    // Of equals, exchanged letters are the likeliest.
    const isLikelier = best !== undefined && found === bestDistance && lettersOf(other) === lettersOf(lower);
    if (found < bestDistance || isLikelier) [best, bestDistance] = [candidate, found];
  }
  if (best !== undefined || word.length < 3) return best;
  return candidates.find((candidate) => candidate.toLowerCase().includes(word.toLowerCase())) ??
    candidates.find((candidate) => isShortened(word.toLowerCase(), candidate.toLowerCase()));
}

function lettersOf(word: string): string {
  return [...word].sort().join("");
}

/** Returns a hint with the candidate that was probably meant, shown in quotes; `undefined`: none is near. */
export function didYouMean(
  word: string,
  candidates: readonly string[],
  show: (meant: string) => string = (meant) => `"${meant}"`,
): string | undefined {
  const meant = nearest(word, candidates);
  return meant && `did you mean ${show(meant)}?`;
}

/** Returns whether a word begins like the whole and leaves letters out behind that. */
function isShortened(word: string, whole: string): boolean {
  if (word.charAt(0) !== whole.charAt(0)) return false;
  let from = 0;
  for (const letter of word) {
    from = whole.indexOf(letter, from) + 1;
    if (from === 0) return false;
  }
  return true;
}
