/**
 * Prints kept results as Markdown, for docs/performance.md:
 *
 *     deno run --allow-read bench/results_page.ts [FILE]
 */
import { fileURLToPath } from "node:url";
import { machineText } from "./machine.ts";
import { type BenchmarkResult, readResults, type Results } from "./results.ts";
import { aimText, valueText } from "./table.ts";

/** Lays results out as tables, below what they were measured on; results of one machine and day have that once. */
export function renderResults(results: Results): string {
  const parts: string[] = [];
  let origin = "";
  for (const [name, result] of Object.entries(results)) {
    const next = originOf(result);
    if (next !== origin) parts.push(next);
    origin = next;
    parts.push(tableOf(name, result));
  }
  return `${parts.join("\n\n")}\n`;
}

function originOf({ machine, measuredAt }: BenchmarkResult): string {
  return `Measured by \`deno task bench\` on ${measuredAt.slice(0, 10)} on ${machineText(machine)}.`;
}

function tableOf(name: string, { rows }: BenchmarkResult): string {
  const lines = rows.map((
    row,
  ) => [
    row.name,
    valueText(row.value, row.unit),
    aimText(row),
    row.note ?? "",
  ]);
  return [[`\`${name}\``, "value", "aim", "behind it"], ["---", "---", "---", "---"], ...lines]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`).join("\n");
}

if (import.meta.main) {
  const [path = fileURLToPath(new URL("results.json", import.meta.url))] = Deno.args;
  console.log(renderResults(await readResults(path)).trimEnd());
}
