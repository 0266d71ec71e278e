import assert from "node:assert/strict";
import fc from "../support/property.ts";
import stringWidth from "string-width";
import { textWidth } from "../../src/shared/wrap.ts";
import { campaign } from "../../testing/seed.ts";

Deno.test("textWidth() counts the columns that a terminal uses", async (t) => {
  const cases: readonly (readonly [name: string, text: string, expected: number])[] = [
    ["ideographs", "日本語", 6],
    ["Hangul letters that make one syllable", "\u1112\u1161\u11ab", 2],
    ["joined emoji", "👨‍👩‍👧", 2],
    ["flags", "🇩🇪🇫🇷", 4],
    ["a symbol in text style and in emoji style", "❤❤\ufe0f", 3],
    ["an emoji in text style", "⌚\ufe0e", 1],
    ["a color", "\u001b[1;31mred\u001b[0m", 3],
    ["a lone surrogate", "\ud800", 1],
  ];
  for (const [name, text, expected] of cases) {
    await t.step(name, () => assert.equal(textWidth(text), expected));
  }
});

Deno.test("textWidth() agrees with string-width, which is exact and slow to load", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", size: "large", maxLength: 100 }), (text) => {
      assert.equal(textWidth(text), stringWidth(text));
    }),
  );
});

Deno.test("textWidth() agrees with string-width on Hangul letters in any order", () => {
  const letters = ["ᄀ", "ꥠ", "가", "각", "ᅡ", "ힰ", "ᆨ", "ퟋ", "a", "한"];
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...letters), maxLength: 12 }), (text) => {
      assert.equal(textWidth(text), stringWidth(text), JSON.stringify(text));
    }),
    { numRuns: campaign(1000) },
  );
});

Deno.test("textWidth() is fast for megabytes of text that resembles one long character", async (t) => {
  const count = campaign(1e6);
  const cases: readonly (readonly [name: string, text: string])[] = [
    ["marks", "e" + "\u0301".repeat(count)],
    ["joiners", "👨" + "\u200d👨".repeat(count / 4)],
    ["styles", "❤" + "\ufe0f".repeat(count)],
    ["half flags", "🇩".repeat(count / 2)],
    ["unfinished colors", "\u001b[1;".repeat(count / 4)],
    ["one unfinished color", `\u001b[${"1;".repeat(count / 2)}`],
    ["Hangul vowels", "\u1100" + "\u1161".repeat(count)],
  ];
  for (const [name, text] of cases) {
    await t.step(name, () => assert.ok(textWidth(text) <= text.length));
  }
});
