/**
 * Every example in JSON is a document that `monitor validate --without-secrets` takes without a warning, or says
 * behind the language what part of one it is; {@linkcode ROLES} lists the words.
 */
import assert from "node:assert/strict";
import { describe, load } from "../config/config_system.ts";
import { type Block, readPages } from "./pages.ts";

const CHECKS = `"checks": { "a": { "kind": "test", "parameters": {} } }`;

/** How a document is made of an example: `text` is as it is written, `rest` what follows the first word. */
const ROLES: Readonly<Record<string, (text: string, rest: string) => string>> = {
  /** A whole document. */
  "": (text) => text,
  /** Members of a document, without its braces. */
  members: (text) => `{ "defaults": {}, ${CHECKS}, ${text} }`,
  /** Members of `defaults`, or of a check that has them, without the braces. */
  defaults: (text) => `{ "defaults": { ${text} }, ${CHECKS} }`,
  /** Checks with their names, without the braces. */
  checks: (text) => `{ "defaults": {}, "checks": { ${text} } }`,
  /** The `parameters` of a check of the kind that follows. */
  parameters: (text, kind) =>
    `{ "defaults": {}, "checks": { "a": { "kind": "${kind}", "parameters": ${text} } } }`,
  channel: (text) => `{ "defaults": { "notifications": [${text}] }, ${CHECKS} }`,
  /** A file that a document includes; a comment in its first line says where it is. */
  include: (text) => JSON.stringify({ defaults: {}, include: pathOf(text) }),
};

/** Something that the program prints or sends. */
const OUTPUT = "output";

const PAGES = readPages();
const EXAMPLES = PAGES.flatMap(({ path, blocks }) =>
  blocks.filter(({ language }) => /^json/.test(language)).map((block) => ({ path, block }))
);
const FILES = {
  "/srv/shop/monitor.jsonc": `{ ${CHECKS} }`,
  ...Object.fromEntries(
    EXAMPLES.filter(({ block }) => block.role === "include").map(({ block }) => [
      pathOf(block.text),
      block.text,
    ]),
  ),
};

for (const { path, block } of EXAMPLES) {
  Deno.test(`the example at ${path}:${block.line} is valid`, async () => {
    if (block.role === OUTPUT) return void JSON.parse(block.text);
    const { warnings, place } = await load(documentOf(block), { files: FILES, withoutSecrets: true });
    assert.deepEqual(warnings.map((warning) => describe(place(warning))), []);
  });
}

Deno.test("an example with a mistake is noticed, whatever part of a document it is", async (t) => {
  const broken: Readonly<Record<string, string>> = {
    "": '{ "defaults": {}, "chekcs": {} }',
    members: '"stat": "x"',
    defaults: '"treshold": 1',
    checks: '"a": { "kind": "test", "parameters": {}, "titel": "x" }',
    "parameters tcp_connect": '{ "host": "example.org" }',
    channel: '{ "kind": "console" }',
    include: '// /etc/monitor/broken.jsonc\n{ "state": "x" }',
  };
  assert.deepEqual(
    Object.keys(broken).map((role) => role.replace(/ .*/, "")).sort(),
    Object.keys(ROLES).sort(),
  );
  for (const [role, text] of Object.entries(broken)) {
    await t.step(role === "" ? "a document" : role, async () => {
      const files = role === "include" ? { [pathOf(text)]: text } : {};
      const document = documentOf({ language: "jsonc", role, line: 1, text });
      await assert.rejects(load(document, { files, withoutSecrets: true }), { name: "ConfigError" });
    });
  }
});

function documentOf({ role, text }: Block): string {
  const [word = "", rest = ""] = role.split(/ (.*)/);
  const make = ROLES[word];
  assert.ok(make !== undefined, `"${role}" says nothing of what part of a document an example is`);
  return make(text, rest);
}

function pathOf(text: string): string {
  const path = /^\/\/ (\S+)\n/.exec(text)?.[1];
  assert.ok(path !== undefined, "a comment in the first line of an included file says where it is");
  return path;
}
