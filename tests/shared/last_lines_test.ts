import assert from "node:assert/strict";
import { lastLines } from "../../src/shared/text.ts";

Deno.test("lastLines() returns the last 20 lines, and of an overwritten line its last text", () => {
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
  assert.equal(lastLines(`${lines.join("\n")}\n\n`), lines.slice(10).join("\n"));
  assert.equal(lastLines("10 %\r50 %\r100 %\r\ndone  \n"), "100 %\ndone");
  assert.equal(lastLines("x".repeat(10_000)).length, 8192);
  assert.equal(lastLines(""), "");
});
