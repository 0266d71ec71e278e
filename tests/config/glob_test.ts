import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { findMatches } from "../../src/config/config_file.ts";
import { createConfigSystem } from "../../testing/config_system.ts";

async function matchesOf(pattern: string, names: readonly string[]): Promise<readonly string[]> {
  const { files } = createConfigSystem({
    files: Object.fromEntries(names.map((name) => [`/d/${name}`, ""])),
  });
  return (await findMatches(pattern, "/d", files)).paths;
}

Deno.test("findMatches() matches names", async (t) => {
  const rows: readonly (readonly [pattern: string, matched: readonly string[], others: readonly string[]])[] =
    [
      ["*", ["a", "a.b"], [".a"]],
      [".*", [".a", ".b.c"], ["a"]],
      ["*.jsonc", ["a.jsonc", "é.jsonc"], ["a.json", ".jsonc", "jsonc", "a.jsonc~", "A.JSONC"]],
      ["a?c", ["abc", "a.c", "a\u{1f600}c"], ["ac", "abbc"]],
      ["a*b*c", ["abc", "a-b-c", "abbcbc"], ["acb", "abcd"]],
      ["[ab]*", ["[ab]", "[ab]c"], ["a", "b"]],
    ];
  for (const [pattern, matched, others] of rows) {
    await t.step(pattern, async () => {
      assert.deepEqual(await matchesOf(pattern, [...others, ...matched]), matched.toSorted());
    });
  }
});

Deno.test("findMatches() agrees with regular expressions on any name", async () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 8 });
  const pattern = fc.string({ unit: fc.constantFrom("a", "b", "*", "?"), maxLength: 6 }).map((text) =>
    `${text}*`
  );
  await fc.assert(fc.asyncProperty(letters, pattern, async (name, glob) => {
    const expression = new RegExp(`^${glob.replaceAll("*", ".*").replaceAll("?", ".")}$`);
    assert.equal((await matchesOf(glob, [name])).length === 1, expression.test(name), `${glob} ${name}`);
  }));
});

Deno.test("findMatches() is fast for patterns that would backtrack exponentially", async () => {
  const name = "a".repeat(250);
  assert.deepEqual(await matchesOf(`${"*a".repeat(60)}*b`, [name]), []);
});

Deno.test("findMatches() limits the number of directories", async () => {
  const { files } = createConfigSystem();
  // Links that lead back up.
  const looping = { ...files, list: () => Promise.resolve(["up", "down"]) };
  await assert.rejects(findMatches("*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/x", "/d", looping), {
    message: "it leads through more than 10000 directories",
  });
});
