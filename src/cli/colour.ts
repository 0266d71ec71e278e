/** Ways to set off a piece of text. Each takes printable text. */
export interface Colours {
  /** For what must be seen first. */
  bold(text: string): string;
  /** For what may be passed over. */
  dim(text: string): string;
  /** For errors and `critical`. */
  red(text: string): string;
  /** For `ok`. */
  green(text: string): string;
  /** For `warning`. */
  yellow(text: string): string;
}

/** The colours of a terminal; without `colour` each returns its text as it is. */
export function createColours(colour: boolean): Colours {
  const paint = (on: number, off: number) => (text: string) =>
    colour && text !== "" ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
  };
}
