import assert from "node:assert/strict";
import { type BashLine, quoteForBash, readBashLine } from "../../../src/cli/commands/completions.ts";

const BREAKS = " \t\n\"'@><=;|&(:";

const LINES: readonly (readonly [name: string, line: string, expected: BashLine])[] = [
  ["a word that is not begun", "monitor ", { words: ["monitor", ""], keptLength: 0, quote: "" }],
  ["a backslash", "m web\\ o", { words: ["m", "web o"], keptLength: 0, quote: "" }],
  ["a backslash at the end", "m web\\", { words: ["m", "web"], keptLength: 0, quote: "" }],
  ["a colon", "m a:b", { words: ["m", "a:b"], keptLength: 2, quote: "" }],
  ["a colon behind a backslash", "m a\\:b", { words: ["m", "a:b"], keptLength: 0, quote: "" }],
  ["an open double quote", 'm "a: b', { words: ["m", "a: b"], keptLength: 0, quote: '"' }],
  ["an open quote within a word", "m --x='a", { words: ["m", "--x=a"], keptLength: 4, quote: "'" }],
  ["a closed quote", 'm "a: b"c', { words: ["m", "a: bc"], keptLength: 0, quote: "" }],
  ["an escaped quote in a quote", 'm "a\\"b\\c', { words: ["m", 'a"b\\c'], keptLength: 0, quote: '"' }],
];

Deno.test("readBashLine() splits a line as bash and readline do", async (t) => {
  for (const [name, line, expected] of LINES) {
    await t.step(name, () => assert.deepStrictEqual(readBashLine(line, BREAKS), expected));
  }
});

Deno.test("quoteForBash() returns text that readBashLine() restores, in every quote", () => {
  const texts = [
    "web",
    "a b",
    "it's",
    'say "hi" for $5 `now`',
    "back\\slash",
    "größe: ü",
    "!~#*?[]{}()<>;&|",
  ];
  for (const text of texts) {
    for (const quote of ["", '"', "'"] as const) {
      const line = `m ${quote}${quoteForBash(text, quote)}${quote}`;
      assert.strictEqual(readBashLine(line, BREAKS).words[1], text, line);
    }
  }
});
