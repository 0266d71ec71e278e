import assert from "node:assert/strict";
import { createTrouble } from "../../src/shared/trouble.ts";

Deno.test("createTrouble() logs a failure once, and its end", () => {
  const reported: (string | null)[] = [];
  const trouble = createTrouble<string>((failure) => void reported.push(failure));
  for (const failure of [null, "one", "two", null, null, "three"]) trouble.set(failure);
  assert.deepEqual(reported, ["one", null, "three"]);
  assert.equal(trouble.isPresent, true);
});
