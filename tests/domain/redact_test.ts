import assert from "node:assert/strict";
import { createRedactor } from "../../src/domain/redact.ts";

Deno.test("createRedactor() takes secrets out of texts", async (t) => {
  const rows = [
    { name: "as it is", secrets: ["swordfish"], text: "it is swordfish!", expected: "it is [secret]!" },
    { name: "twice", secrets: ["swordfish"], text: "swordfishswordfish", expected: "[secret][secret]" },
    { name: "in an address", secrets: ["a b/c&d"], text: "?t=a%20b%2Fc%26d", expected: "?t=[secret]" },
    {
      name: "one within another",
      secrets: ["swordfish", "swordfish-4711"],
      text: "swordfish-4711",
      expected: "[secret]",
    },
    {
      name: "a line of several",
      secrets: ["first line\nsecond line"],
      text: "x second line",
      expected: "x [secret]",
    },
    { name: "signs of patterns", secrets: ["a.c*(d"], text: "abc a.c*(d", expected: "abc [secret]" },
    { name: "too short to hide anything", secrets: ["abc"], text: "abc", expected: "abc" },
    { name: "none", secrets: [], text: "swordfish", expected: "swordfish" },
    {
      name: "cut in a quotation",
      secrets: ["0123456789abcdefghijklmnop"],
      text: 'has "0123456789abcdefgh…", expected',
      expected: 'has "[secret]", expected',
    },
  ];
  for (const { name, secrets, text, expected } of rows) {
    await t.step(name, () => assert.strictEqual(createRedactor(secrets)(text), expected));
  }
});
