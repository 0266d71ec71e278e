import type { Row } from "./row.ts";

/** Lays rows out in columns: what was measured, the value with its unit, the aim, and what the value was made of. */
export function renderTable(rows: readonly Row[]): string {
  const cells = rows.map((row) => [`  ${row.name}`, valueText(row), aimText(row), row.note ?? ""] as const);
  const width = (column: 0 | 1 | 2): number => Math.max(...cells.map((cell) => cell[column].length));
  const widths = [width(0), width(1), width(2)] as const;
  return cells.map(([name, value, aim, note]) =>
    [name.padEnd(widths[0]), value.padStart(widths[1]), aim.padEnd(widths[2]), note].join("  ").trimEnd()
  ).join("\n");
}

function valueText({ value, unit }: Row): string {
  if (value === null) return "-";
  const digits = unit === "×" ? 2 : Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const number = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${number} ${unit}`;
}

function aimText({ value, aim }: Row): string {
  if (aim === undefined || value === null) return "";
  return `${value < aim ? "below" : "NOT below"} ${aim}`;
}
