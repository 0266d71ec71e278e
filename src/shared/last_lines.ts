const LINES_MAX = 20;
const CHARACTERS_MAX = 8192;

/**
 * Returns the last lines of a job's output. Of a line that overwrote itself, as progress bars do, only the last text.
 */
export function lastLines(text: string): string {
  const lines = text.trimEnd().split("\n").map((line) => line.trimEnd().split("\r").at(-1) ?? "");
  return lines.slice(-LINES_MAX).join("\n").slice(-CHARACTERS_MAX).toWellFormed();
}
