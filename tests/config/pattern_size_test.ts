import assert from "node:assert/strict";
import { estimateSteps } from "../../src/config/expressions.ts";
import { RE2JS } from "re2js";

Deno.test("estimateSteps() estimates the size of a compiled regular expression", async (t) => {
  const patterns: readonly string[] = [
    `(${"a".repeat(980)}){10}`,
    `(${"\\pL".repeat(300)}){5}`,
    `(${"a{1000}".repeat(5)})`,
    "((a{10}){10}){10}",
    "[]a]{500}",
    "(?P<name>ab){300}",
    "(?i:ab){300}",
    "\\x{10FFFF}{70}",
    "\\p{Greek}{700}",
    "\\({500}",
  ];
  for (const pattern of patterns) {
    await t.step(pattern.slice(0, 30), () => {
      const steps = RE2JS.compile(pattern).programSize();
      const estimate = estimateSteps(pattern);
      assert.ok(estimate > steps / 3 && estimate < steps * 3, `${estimate} for ${steps}`);
    });
  }
});
