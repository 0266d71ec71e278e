import assert from "node:assert/strict";
import fc from "../support/property.ts";
import stringWidth from "string-width";
import { printable } from "../../src/shared/printable.ts";
import { pad, wrap } from "../../src/shared/wrap.ts";
import { HUGE_TEXTS } from "../cli/formats/hostile_records.ts";
import { anyText } from "../cli/formats/records.ts";

Deno.test("wrap() breaks at spaces, and inside a word only if it must", async (t) => {
  const cases:
    readonly (readonly [name: string, text: string, columns: number, expected: readonly string[]])[] = [
      ["an empty text is one empty line", "", 5, [""]],
      ["what fits exactly stays", "ab cd", 5, ["ab cd"]],
      ["break at a space", "ab cdef", 5, ["ab", "cdef"]],
      ["inner spaces stay", "a  b cdef", 5, ["a  b", "cdef"]],
      ["leading spaces stay", "  a bcd", 5, ["  a", "bcd"]],
      ["leading spaces wider than the line go", "      ab", 5, ["ab"]],
      ["a long word is broken", "abcdefghijkl", 5, ["abcde", "fghij", "kl"]],
      ["a long word starts on a line of its own", "ab cdefghij", 5, ["ab", "cdefg", "hij"]],
      ["wide characters take two columns", "日本語", 5, ["日本", "語"]],
      ["joined emoji stay whole", "👩‍👩‍👧👩‍👩‍👧", 3, ["👩‍👩‍👧", "👩‍👩‍👧"]],
      ["colors take no room", "\u001b[31m1 red\u001b[39m", 5, ["\u001b[31m1 red\u001b[39m"]],
    ];
  for (const [name, text, columns, expected] of cases) {
    await t.step(name, () => assert.deepEqual(wrap(text, columns), expected));
  }
});

Deno.test("wrap() keeps every line within its width and loses nothing but white space", () => {
  fc.assert(fc.property(anyText(), fc.integer({ min: 2, max: 60 }), (any, columns) => {
    const text = printable(any);
    const lines = wrap(text, columns);
    for (const line of lines) assert.ok(stringWidth(line) <= columns, `${JSON.stringify(line)} is too wide`);
    assert.equal(lines.join("").replace(/\s/gu, ""), text.replace(/\s/gu, ""));
  }));
});

Deno.test("wrap() is fast for huge texts", async (t) => {
  for (const [name, text] of HUGE_TEXTS) {
    await t.step(name, () => {
      const line = printable(text);
      assert.equal(wrap(line, 80).join("").replaceAll(" ", ""), line.replaceAll(" ", ""));
    });
  }
});

Deno.test("pad() fills up to a width in terminal columns", () => {
  assert.equal(pad("日本", 6), "日本  ");
  assert.equal(pad("abc", 3), "abc");
  assert.equal(pad("abcd", 3), "abcd");
});
