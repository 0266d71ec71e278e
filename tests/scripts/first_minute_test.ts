import assert from "node:assert/strict";
import { runFirstMinute, withFirstMinute } from "../../scripts/first_minute.ts";

const README = await Deno.readTextFile(new URL("../../README.md", import.meta.url));

Deno.test("README.md shows the output of the first minute", async () => {
  // Where this fails: deno run -A scripts/first_minute.ts
  assert.equal(README, withFirstMinute(README, await runFirstMinute()));
});
