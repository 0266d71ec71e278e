const LINES_MAX = 20;
const CHARACTERS_MAX = 8192;

/** Returns the last lines that a job printed. Of a line that overwrote itself, as progress bars do, what was seen last. */
export function lastLines(text: string): string {
  const lines = text.trimEnd().split("\n").map((line) => line.trimEnd().split("\r").at(-1) ?? "");
  return lines.slice(-LINES_MAX).join("\n").slice(-CHARACTERS_MAX).toWellFormed();
}
