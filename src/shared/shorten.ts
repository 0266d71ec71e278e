/** Cuts a text to so many UTF-16 units and an ellipsis; a character of two units stays whole. */
export function shorten(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  return `${text.slice(0, lengthMax).replace(/[\ud800-\udbff]$/, "")}…`;
}
