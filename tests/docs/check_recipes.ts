/** The checks of docs/recipes, each as it is written there. */
import assert from "node:assert/strict";
import type { Harness } from "../life/program.ts";
import { parsePage, readPage } from "./pages.ts";

/** A check as it is written in a config. */
export interface WrittenCheck {
  readonly kind: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Returns the checks of the recipe with a heading, by their names. */
export function checksOf(page: string, heading: string): Readonly<Record<string, WrittenCheck>> {
  const section = readPage(`docs/recipes/${page}.md`).text.split(/^## /m)
    .find((section) => section.startsWith(`${heading}\n`));
  assert.ok(section !== undefined, `docs/recipes/${page}.md has no heading "${heading}"`);
  const [block] = parsePage(section).blocks;
  return JSON.parse(block?.text ?? "{}").checks;
}

/** Runs checks once. Returns the condition and the output of each, by its name. */
export async function runChecks(
  { directory, writeConfig, runHere }: Pick<Harness, "directory" | "writeConfig" | "runHere">,
  checks: Readonly<Record<string, WrittenCheck>>,
): Promise<ReadonlyMap<string, string>> {
  writeConfig(checks);
  const environment = { PATH: `${directory}:/usr/local/bin:/usr/bin:/bin` };
  const args = ["check", "--once", "--state", "none", "--format", "json"];
  const { stdout, stderr } = await runHere(args, { environment });
  assert.equal(stderr, "");
  const document: { readonly checks: readonly Readonly<Record<"name" | "condition" | "output", string>>[] } =
    JSON.parse(stdout);
  return new Map(document.checks.map(({ name, condition, output }) => [name, `${condition}: ${output}`]));
}
