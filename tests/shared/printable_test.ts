import assert from "node:assert/strict";
import { printable, printableBlock } from "../../src/shared/text.ts";

Deno.test("printable() escapes control characters of a terminal", async (t) => {
  const cases: readonly (readonly [name: string, text: string, expected: string])[] = [
    ["plain text stays", "status is 500, expected 200", "status is 500, expected 200"],
    ["other scripts and emoji stay", "日本語 é 👩‍👩‍👧 🏳️‍🌈 می‌خواهم", "日本語 é 👩‍👩‍👧 🏳️‍🌈 می‌خواهم"],
    ["carriage return", "a\r\nb", "a\\r\\nb"],
    ["tab", "a\tb", "a b"],
    ["escape sequence", "\u001b[2Jx", "\\x1b[2Jx"],
    ["eight-bit escape sequence", "\u009b2Jx", "\\x9b2Jx"],
    ["colors are dropped", "\u001b[1;31mred\u001b[0m \u009b4:3mx", "red x"],
    ["no sequence comes about where a color was dropped", "\u001b\u001b[0m[2J", "\\x1b[2J"],
    ["an unfinished color is no color", "\u001b[31", "\\x1b[31"],
    ["next line, line and paragraph separator", "\u0085\u2028\u2029", "\\x85\\u2028\\u2029"],
    ["right-to-left override", "a\u202eb", "a\\u202eb"],
    ["zero-width space and byte-order mark", "a\u200bb\ufeff", "a\\u200bb\\ufeff"],
    ["tag characters", "\u{e0041}", "\\u{e0041}"],
    ["lone surrogates", "\ud800a\udfff", "\ufffda\ufffd"],
    ["a pair in the wrong order", "\ude00\ud83d", "\ufffd\ufffd"],
    ["code points that are no characters", "\ufffe\ufdd0\u{1ffff}", "\ufffd\ufffd\ufffd"],
  ];
  for (const [name, text, expected] of cases) {
    await t.step(name, () => assert.equal(printable(text), expected));
  }
});

Deno.test("printableBlock() keeps line breaks and only those", async (t) => {
  const cases: readonly (readonly [name: string, text: string, expected: string])[] = [
    ["carriage return and line feed", "a\r\nb", "a\nb"],
    ["a carriage return alone would overwrite the line", "10%\r20%", "10%\\r20%"],
    ["tab", "a\tb", "a    b"],
    ["escape sequence", "a\n\u001b[2J", "a\n\\x1b[2J"],
    ["line separator", "a\u2028b", "a\\u2028b"],
  ];
  for (const [name, text, expected] of cases) {
    await t.step(name, () => assert.equal(printableBlock(text), expected));
  }
});
