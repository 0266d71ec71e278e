/** Formats for pieces of text. Each accepts printable text. */
export interface Colors {
  /** For the most important text. */
  bold(text: string): string;
  /** For less important text. */
  dim(text: string): string;
  /** For errors and `critical`. */
  red(text: string): string;
  /** For `ok`. */
  green(text: string): string;
  /** For `warning`. */
  yellow(text: string): string;
  /** For `pending`. */
  cyan(text: string): string;
}

/** The colors of a terminal; without `color` each returns its text as it is. */
export function createColors(color: boolean): Colors {
  const paint = (on: number, off: number) => (text: string) =>
    color && text !== "" ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
  };
}
