/**
 * Prints kept results as Markdown, for docs/performance.md, or what the README says of them:
 *
 *     deno run --allow-read bench/results_page.ts [--summary] [FILE]
 */
import { fileURLToPath } from "node:url";
import { machineText } from "./machine.ts";
import { type BenchmarkResult, readResults, type Results } from "./results.ts";
import type { Row } from "./row.ts";
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

const START = "executable, check --once";

/**
 * Says in short what a start, a request and a script cost.
 *
 * @throws {Error} If a row that it tells of is not among the results.
 */
export function renderSummary(results: Results): string {
  const row = (benchmark: string, name: string): Row => {
    const found = results[benchmark]?.rows.find((row) => row.name === name);
    if (found === undefined) throw new Error(`There is no result "${name}" of ${benchmark}`);
    return found;
  };
  const value = (benchmark: string, name: string): string => {
    const { value, unit } = row(benchmark, name);
    return valueText(value, unit);
  };
  const start = (label: string, name: string): string => {
    const { value, note = "" } = row("startup", name);
    const [own = "", empty = ""] = note.replace(" of an empty program", "").split(" to ");
    return `| ${label} | ${own} | ${empty} | ${value?.toFixed(2)} |`;
  };
  const rate = (what: string, to: string): string =>
    value("rates", `${what} a second to ${to}, processor time`);
  return [
    "| of `monitor check --once` with one `test` check | monitor | empty program | ratio |",
    "| --- | --- | --- | --- |",
    start("size of the executable", "executable, size"),
    start("start to end, `--state none`", `${START} --state none, wall time`),
    start("start to end, with kept state", `${START} with kept state, wall time`),
    start("peak memory, `--state none`", `${START} --state none, peak memory`),
    "",
    `A request takes ${
      rate("200 requests", "a bare fetch loop")
    } the processor time of one of a bare \`fetch\` loop`,
    `where there are 200 a second, ${
      rate("1,000 requests", "a bare fetch loop")
    } where there are 1,000; 10,000 a minute`,
    `take ${value("minute", "10,000 requests a minute, share of a processor")} of one core and`,
    `${
      value("minute", "10,000 requests a minute, most memory that was resident")
    } at the most. A script takes`,
    `${
      rate("50 scripts", "one with process groups")
    } that of a loop that starts the same in process groups where there`,
    `are 50 a second and ${rate("300 scripts", "one with process groups")} where there are 300; it takes`,
    `${rate("50 scripts", "a bare Deno.Command loop")} and ${
      rate("300 scripts", "a bare Deno.Command loop")
    } that of a loop`,
    "that could not end what they leave behind.",
    "",
  ].join("\n");
}

if (import.meta.main) {
  const isSummary = Deno.args[0] === "--summary";
  const [path = fileURLToPath(new URL("results.json", import.meta.url))] = Deno.args.slice(isSummary ? 1 : 0);
  const results = await readResults(path);
  console.log((isSummary ? renderSummary(results) : renderResults(results)).trimEnd());
}
