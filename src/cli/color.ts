/** Formats for pieces of printable text. */
export type Colors = Readonly<
  Record<"bold" | "dim" | "red" | "green" | "yellow" | "cyan", (text: string) => string>
>;

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
