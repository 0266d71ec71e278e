/**
 * Every example in JSON is a config that `monitor validate --without-secrets` accepts without a warning, or names the
 * part of one after the language; {@linkcode ROLES} lists the words.
 */
import assert from "node:assert/strict";
import { describe, load } from "../../testing/config_system.ts";
import { configOf, EXAMPLES, FILES, OUTPUT, pathOf, ROLES } from "./examples.ts";

for (const { path, block } of EXAMPLES) {
  Deno.test(`the example at ${path}:${block.line} is valid`, async () => {
    if (block.role === OUTPUT) return void JSON.parse(block.text);
    const { warnings, place } = await load(configOf(block), { files: FILES, withoutSecrets: true });
    assert.deepEqual(warnings.map((warning) => describe(place(warning))), []);
  });
}

Deno.test("an example with an error is found, whatever part of a config it is", async (t) => {
  const broken: Readonly<Record<string, string>> = {
    "": '{ "defaults": {}, "chekcs": {} }',
    keys: '"stat": "x"',
    defaults: '"treshold": 1',
    checks: '"a": { "kind": "test", "parameters": {}, "titel": "x" }',
    "parameters tcp_connect": '{ "host": "example.org", "prot": 1 }',
    named: '"slack": { "kind": "webhook", "parameters": { "target": "https://example.org/", "bdy": 1 } }',
    channel: '{ "kind": "console" }',
    include: '// /etc/monitor/broken.jsonc\n{ "state": "x" }',
  };
  assert.deepEqual(
    Object.keys(broken).map((role) => role.replace(/ .*/, "")).sort(),
    Object.keys(ROLES).sort(),
  );
  for (const [role, text] of Object.entries(broken)) {
    await t.step(role === "" ? "a config" : role, async () => {
      const files = role === "include" ? { [pathOf(text)]: text } : {};
      const config = configOf({ language: "jsonc", role, line: 1, text });
      await assert.rejects(load(config, { files, withoutSecrets: true }), { name: "ConfigError" });
    });
  }
});
