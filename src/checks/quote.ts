const QUOTED_LENGTH_MAX = 200;

/** A quotation on one line, as it was sent except that it may be shortened. */
export function quote(text: string): string {
  return `"${shorten(text).replace(/\r\n|\r|\n/g, "\\n")}"`;
}

/** Does not cut a surrogate pair in two. */
export function shorten(text: string): string {
  if (text.length <= QUOTED_LENGTH_MAX) return text;
  return `${text.slice(0, QUOTED_LENGTH_MAX).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** An address without credentials, query and fragment, which nobody else is to see. */
export function describeTarget(target: string): string {
  const { origin, pathname } = new URL(target);
  return shorten(`${origin}${pathname}`);
}
