/** Figures stand in the pages as they were measured. */
import assert from "node:assert/strict";
import { renderResults, renderSummary } from "../../bench/results_page.ts";
import { readResults } from "../../bench/results.ts";
import { PROJECT, readPage } from "./pages.ts";

const RESULTS = await readResults(`${PROJECT}bench/results.json`);

Deno.test("docs/performance.md ends with the kept results", () => {
  assert.ok(Object.keys(RESULTS).length > 10);
  assert.ok(unlaid(readPage("docs/performance.md").text).endsWith(unlaid(renderResults(RESULTS))));
});

Deno.test("README.md says in short what the kept results say", () => {
  assert.ok(unlaid(readPage("README.md").text).includes(unlaid(renderSummary(RESULTS))));
});

/** The same whatever columns and lines are laid out like. */
function unlaid(text: string): string {
  return text.replaceAll(/ *\| */g, "|").replaceAll(/-{3,}/g, "---").replaceAll(/\s+/g, " ").trim();
}
