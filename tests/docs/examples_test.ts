/**
 * Every example in JSON is a config that `monitor validate --without-secrets` accepts without a warning, or names the
 * part of one after the language; `ROLES` of examples.ts lists the words.
 */
import assert from "node:assert/strict";
import { describe, load } from "../../testing/config_system.ts";
import { play } from "../rehearsal/play.ts";
import { configOf, EXAMPLES, FILES, OUTPUT, SCENARIO } from "./examples.ts";

for (const { path, block } of EXAMPLES) {
  Deno.test(`the example at ${path}:${block.line} is valid`, async () => {
    if (block.role === OUTPUT) return void JSON.parse(block.text);
    if (block.role === SCENARIO) return await assertExpected(JSON.parse(block.text));
    const { warnings, placed } = await load(configOf(block), { files: FILES, withoutSecrets: true });
    assert.deepEqual(placed(warnings).map(describe), []);
  });
}

/** A scenario comes to what it expects with a check and a channel. */
async function assertExpected(
  scenario: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): Promise<void> {
  const checks = { shop: { threshold: 2, schedule: { regular_interval: "1 minute" } } };
  const { channels } = await play(scenario, { channels: { pager: {} }, checks });
  assert.deepEqual(
    channels.map(({ lines }) => lines),
    channels.map(({ name }) => scenario["expect"]?.[name]),
  );
}
