import assert from "node:assert/strict";
import { parseJson } from "../../src/shared/json_values.ts";

Deno.test("parseJson() parses JSON, and replaces broken JSON", () => {
  assert.deepEqual(parseJson('{"a":[1,null]}'), { a: [1, null] });
  assert.equal(parseJson("null", {}), null);
  assert.equal(parseJson("{"), undefined);
  assert.deepEqual(parseJson("", []), []);
});
