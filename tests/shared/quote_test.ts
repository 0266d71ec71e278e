import assert from "node:assert/strict";
import { quote } from "../../src/shared/text.ts";

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
