/** The checks of docs/recipes, each as it is written there. */
import assert from "node:assert/strict";
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
