import assert from "node:assert/strict";
import { oneLine, truncate, truncateBytes } from "../../src/shared/text.ts";

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
