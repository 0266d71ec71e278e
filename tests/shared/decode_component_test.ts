import assert from "node:assert/strict";
import { decodeComponent } from "../../src/shared/text.ts";

Deno.test("decodeComponent() decodes escapes, and returns a text with a broken one as it is", () => {
  assert.equal(decodeComponent("a%20b%C3%A9"), "a bé");
  for (const text of ["100%", "%20%zz", "%e9"]) assert.equal(decodeComponent(text), text);
});
