import assert from "node:assert/strict";
import {
  decodeComponent,
  lastLines,
  layOutJson,
  oneLine,
  printable,
  printableBlock,
  quote,
  truncate,
  truncateBytes,
} from "../../src/shared/text.ts";
import fc from "../support/property.ts";
import stringWidth from "string-width";
import { textWidth } from "../../src/shared/wrap.ts";
import { campaign } from "../../testing/seed.ts";
import { hash32, hashHex } from "../../src/shared/hash.ts";

Deno.test("truncate() returns at most so many code units, without half a character", async (t) => {
  const rows = [
    { name: "a short text", text: "abc", lengthMax: 3, expected: "abc" },
    { name: "a long text", text: "abcd", lengthMax: 3, expected: "ab…" },
    { name: "a pair at the end", text: "a🙂bc", lengthMax: 3, expected: "a…" },
    { name: "a lone surrogate", text: "a\ud83d", lengthMax: 3, expected: "a\ufffd" },
    { name: "no room", text: "abc", lengthMax: 0, expected: "" },
    { name: "space for the ellipsis alone", text: "abc", lengthMax: 1, expected: "…" },
  ];
  for (const { name, text, lengthMax, expected } of rows) {
    await t.step(name, () => assert.equal(truncate(text, lengthMax), expected));
  }
});

Deno.test("truncateBytes() returns at most so many bytes, without half a character", async (t) => {
  const rows = [
    { name: "a short text", text: "äöü", bytesMax: 6, expected: "äöü" },
    { name: "a long text", text: "äöüß", bytesMax: 7, expected: "äö…" },
    { name: "a character across the limit", text: "aäöüß", bytesMax: 7, expected: "aä…" },
  ];
  for (const { name, text, bytesMax, expected } of rows) {
    await t.step(name, () => assert.equal(truncateBytes(text, bytesMax), expected));
  }
});

Deno.test("truncateBytes() keeps a Latin-1 text after some thousand calls, as a service makes", () => {
  for (let call = 0; call < 20_000; call++) {
    assert.equal(truncateBytes("é", 6), "é");
    assert.equal(truncateBytes("éé", 3), "…");
    assert.equal(truncateBytes("aé€", 5), "a…");
  }
});

Deno.test("oneLine() folds white space and control characters", () => {
  assert.equal(oneLine(" a\r\n\tb\u0000c\u202ed "), "a b c d");
  assert.equal(oneLine("a".repeat(1_000_000)), `${"a".repeat(199)}…`);
});

Deno.test("quote() escapes invisible characters", async (t) => {
  const rows = [
    { name: "a plain text", text: 'said "hi"', quoted: '"said "hi""' },
    { name: "newlines", text: "a\r\nb\nc\rd", quoted: '"a\\r\\nb\\nc\\rd"' },
    { name: "a tab", text: "a\tb", quoted: '"a\\tb"' },
    { name: "a control character of the first 32", text: "\x1b[31m", quoted: '"\\x1b[31m"' },
    { name: "a control character beyond ASCII", text: "text/plain\x8d", quoted: '"text/plain\\x8d"' },
    { name: "a space without a width", text: "a\u200bb", quoted: '"a\\u200bb"' },
    { name: "letters of any language", text: "grüß 你好", quoted: '"grüß 你好"' },
  ];
  for (const { name, text, quoted } of rows) {
    await t.step(name, () => assert.equal(quote(text), quoted));
  }
});

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

Deno.test("lastLines() returns the last 20 lines, and of an overwritten line its last text", () => {
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
  assert.equal(lastLines(`${lines.join("\n")}\n\n`), lines.slice(10).join("\n"));
  assert.equal(lastLines("10 %\r50 %\r100 %\r\ndone  \n"), "100 %\ndone");
  assert.equal(lastLines("x".repeat(10_000)).length, 8192);
  assert.equal(lastLines(""), "");
});

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

Deno.test("decodeComponent() decodes escapes, and returns a text with a broken one as it is", () => {
  assert.equal(decodeComponent("a%20b%C3%A9"), "a bé");
  for (const text of ["100%", "%20%zz", "%e9"]) assert.equal(decodeComponent(text), text);
});

const OPTIONS = { indent: "  ", margin: "", column: 0, newline: "\n" };

Deno.test("layOutJson() wraps long values, level by level", () => {
  const long = "x".repeat(60);
  assert.equal(
    layOutJson({ a: { b: long, c: long }, d: [1] }, { ...OPTIONS, margin: "  ", newline: "\r\n" }),
    `{\r\n    "a": {\r\n      "b": "${long}",\r\n      "c": "${long}"\r\n    },\r\n    "d": [1]\r\n  }`,
  );
});

Deno.test("layOutJson() writes control characters of a text as escapes", () => {
  assert.equal(layOutJson(["\u009b\n"], OPTIONS), '["\\u009b\\n"]');
});

Deno.test("hash32() puts texts far apart that differ in one character", () => {
  const hashes = Array.from({ length: 1000 }, (_, index) => hash32(`check ${index}`));
  const tenths = new Map<number, number>();
  for (const hash of hashes) {
    const tenth = Math.floor(hash / 2 ** 32 * 10);
    tenths.set(tenth, (tenths.get(tenth) ?? 0) + 1);
  }
  assert.equal(new Set(hashes).size, 1000);
  for (let tenth = 0; tenth < 10; tenth++) assert.ok((tenths.get(tenth) ?? 0) > 70);
});

Deno.test("hashHex() returns the same digits in every version", () => {
  assert.equal(hashHex("", 8), "ab3e7c0b");
  assert.match(hashHex("a", 32), /^[0-9a-f]{32}$/);
  assert.equal(hashHex("a", 32).slice(0, 16), hashHex("a", 16));
});
