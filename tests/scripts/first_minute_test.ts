import assert from "node:assert/strict";
import { runFirstMinute, withFirstMinute } from "../../scripts/first_minute.ts";

const README = await Deno.readTextFile(new URL("../../README.md", import.meta.url));

Deno.test("README.md shows the output of the first minute", async () => {
  // Where this fails: deno run -A scripts/first_minute.ts
  assert.equal(README, withFirstMinute(README, await runFirstMinute()));
});

Deno.test("withFirstMinute() puts a transcript between the marks, and nowhere else", () => {
  const changed = withFirstMinute(README, "$ true\n");
  assert.ok(changed.includes("```console\n$ true\n```\n"));
  assert.equal(withFirstMinute(changed, "$ true\n"), changed);
  assert.throws(() => withFirstMinute("# monitor\n", "$ true\n"), /Cannot find the marks/);
});
