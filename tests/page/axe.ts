import assert from "node:assert/strict";
import axe from "axe-core";
import type { Browser } from "./browser.ts";

/** A file can't be renewed otherwise; it stays where it was scrolled to. The live page has a script instead. */
const EXCEPT_REFRESH = { rules: { "meta-refresh": { enabled: false } } };

/** Returns the findings of axe-core, a line each. */
export async function findFaults(browser: Browser): Promise<readonly string[]> {
  await browser.run(axe.source);
  const body = `return axe.run(document, { ...arguments[0], resultTypes: ["violations"] })
    .then(({ violations, passes }) => ({
      faults: violations.map(({ id, nodes }) => id + ": " + nodes[0].html + " (" + nodes.length + ")"),
      passes: passes.length,
    }))`;
  const found = await browser.run(body, EXCEPT_REFRESH) as {
    readonly faults: readonly string[];
    readonly passes: number;
  };
  assert.ok(found.passes > 0, "it looked");
  return found.faults;
}
