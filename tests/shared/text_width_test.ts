import assert from "node:assert/strict";
import fc from "../support/property.ts";
import stringWidth from "string-width";
import { textWidth } from "../../src/shared/wrap.ts";
import { campaign } from "../../testing/seed.ts";

Deno.test("textWidth() counts the columns that a terminal uses", async (t) => {
  const cases: readonly (readonly [name: string, text: string, expected: number])[] = [
    ["ideographs", "日本語", 6],
    ["Hangul letters that make one syllable", "\u1112\u1161\u11ab", 2],
    ["a Hangul syllable with a last letter of its own", "\uac00\u11a8각", 4],
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
    fc.property(fc.string({ unit: "grapheme", size: "large", maxLength: 100 }), (given) => {
      // Letters without the first one of their syllable have a width there.
      const text = given.replace(/[\u1160-\u11ff\ud7b0-\ud7fb]/g, "");
      assert.equal(textWidth(text), stringWidth(text));
    }),
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
