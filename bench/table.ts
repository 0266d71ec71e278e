import type { Row } from "./row.ts";

/** Lays rows out in columns: the name, the value with its unit, the aim, and the inputs of the value. */
export function renderTable(rows: readonly Row[]): string {
  const cells = rows.map((row) => [
    { text: `  ${row.name}` },
    { text: valueText(row.value, row.unit), isRight: true },
    { text: aimText(row) },
    { text: row.note ?? "" },
  ]);
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.text.length ?? 0))
  );
  return cells.map((row) =>
    row.flatMap(({ text, isRight }, column) => {
      const width = widths[column] ?? 0;
      const isEmpty = width === 0;
      return isEmpty ? [] : [isRight ? text.padStart(width) : text.padEnd(width)];
    }).join("  ").trimEnd()
  ).join("\n");
}

/** A value with its unit, with as many digits as mean something; `-` where there is none. */
export function valueText(value: number | null, unit: string): string {
  return value === null ? "-" : `${numberText(value, unit)} ${unit}`;
}

function numberText(value: number, unit: string): string {
  const digits = unit === "×" ? 2 : Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Describes whether a value meets its aim; empty without an aim. */
export function aimText({ value, aim }: Row): string {
  if (aim === undefined || value === null) return "";
  return `${value <= aim ? "within" : "MISSES"} ${aim}`;
}
