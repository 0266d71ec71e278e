import assert from "node:assert/strict";
import { readHeader } from "../../../src/checks/http/captures.ts";

Deno.test("readHeader() decodes UTF-8, and other bytes as Latin-1", async (t) => {
  const rows = [
    { name: "ASCII", bytes: "plain", expected: "plain" },
    { name: "UTF-8", bytes: "gr\u00c3\u00bcn", expected: "grün" },
    { name: "ISO-8859-1", bytes: "gr\u00fcn", expected: "gr\u00fcn" },
    { name: "a byte-order mark", bytes: "\u00ef\u00bb\u00bfx", expected: "\ufeffx" },
    { name: "UTF-8 that is cut short", bytes: "gr\u00c3", expected: "gr\u00c3" },
  ];
  for (const { name, bytes, expected } of rows) {
    await t.step(name, () => assert.equal(readHeader(new Headers({ "x-a": bytes }), "X-A"), expected));
  }
});

Deno.test("readHeader() distinguishes a missing header from an empty one", () => {
  const headers = new Headers({ "x-a": "" });
  assert.equal(readHeader(headers, "x-a"), "");
  assert.equal(readHeader(headers, "x-b"), null);
});

Deno.test("readHeader() joins a repeated header", () => {
  const headers = new Headers([["x-a", "1"], ["x-a", "2"], ["set-cookie", "a"], ["set-cookie", "b"]]);
  assert.equal(readHeader(headers, "x-a"), "1, 2");
  assert.equal(readHeader(headers, "set-cookie"), "a, b");
});
