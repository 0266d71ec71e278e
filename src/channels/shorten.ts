/** The beginning of a text, at most so many UTF-16 code units, with an ellipsis where something was left out. */
export function shorten(text: string, lengthMax: number): string {
  if (lengthMax <= 0) return "";
  if (text.length <= lengthMax) return text.toWellFormed();
  const kept = text.slice(0, lengthMax - 1);
  // Half of a pair is no character.
  return `${/[\ud800-\udbff]$/.test(kept) ? kept.slice(0, -1) : kept}…`.toWellFormed();
}
