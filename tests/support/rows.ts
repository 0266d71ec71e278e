/** The rows of a table by name, each a tuple. */
export type Rows<Row extends readonly unknown[]> = Readonly<Record<string, Readonly<Row>>>;

/** Runs a step of a test for each row of a table, under the name of the row. */
export async function testRows<Row>(
  t: Deno.TestContext,
  rows: Readonly<Record<string, Row>>,
  run: (row: Row, name: string) => void | Promise<void>,
): Promise<void> {
  for (const [name, row] of Object.entries(rows)) await t.step(name, () => run(row, name));
}

/**
 * Runs a step of a test for each line of a table as text: a name and further cells, with bars between blanks in
 * between. Missing cells at the end are empty. A backslash at the end of a line continues it: the
 * indentation of the next one is one blank.
 */
export async function testTable(
  t: Deno.TestContext,
  table: string,
  run: (...cells: string[]) => void | Promise<void>,
): Promise<void> {
  for (const cells of linesOf(table)) {
    const all = [...cells, ...Array<string>(Math.max(0, run.length - cells.length)).fill("")];
    await t.step(cells[0] ?? "", () => run(...all));
  }
}

/** Returns the cells of each line of a table as text. */
export function linesOf(table: string): readonly (readonly string[])[] {
  const lines = table.replaceAll("\\\n", "").split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) =>
    line.split(/(?<=^|\s)\|(?=\s|$)/).map((cell) => cell.trim().replaceAll(/ {4,}/g, " "))
  );
}

/** Returns the object of such as `state=failed limit.above=3 names=["a","b"]`; a value is JSON, or else a text. */
export function fieldsOf<T>(text: string): T {
  const found: Record<string, unknown> = {};
  for (const [, path = "", value = ""] of text.matchAll(/([\w.-]+)=("[^"\\]*(?:\\.[^"\\]*)*"|\S+)/g)) {
    const names = path.split(".");
    const last = names.pop() ?? "";
    let parent = found;
    for (const name of names) parent = (parent[name] ??= {}) as Record<string, unknown>;
    parent[last] = valueOf(value);
  }
  return found as T;
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Returns the milliseconds of such as `1 h 30 min`. */
export function spanMs(text: string): number {
  return [...text.matchAll(/([\d.-]+) (\w+)/g)].reduce(
    (sum, [, count, unit = ""]) => sum + Number(count) * (UNITS_MS[unit] ?? NaN),
    0,
  );
}
