/**
 * Every example in JSON is a config that `monitor validate --without-secrets` accepts without a warning, or names the
 * part of one after the language; `ROLES` of examples.ts lists the words.
 */
import assert from "node:assert/strict";
import { describe, load } from "../../testing/config_system.ts";
import { configOf, EXAMPLES, FILES, OUTPUT } from "./examples.ts";

for (const { path, block } of EXAMPLES) {
  Deno.test(`the example at ${path}:${block.line} is valid`, async () => {
    if (block.role === OUTPUT) return void JSON.parse(block.text);
    const { warnings, placed } = await load(configOf(block), { files: FILES, withoutSecrets: true });
    assert.deepEqual(placed(warnings).map(describe), []);
  });
}
