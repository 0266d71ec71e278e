import assert from "node:assert/strict";
import { type Rows, testRows } from "../../support/rows.ts";
import { readHeader } from "../../../src/checks/http/captures.ts";

Deno.test("readHeader() decodes UTF-8, and other bytes as Latin-1", async (t) => {
  const rows: Rows<[bytes: string, expected: string]> = {
    "ASCII": ["plain", "plain"],
    "UTF-8": ["gr\u00c3\u00bcn", "grün"],
    "ISO-8859-1": ["gr\u00fcn", "gr\u00fcn"],
    "a byte-order mark": ["\u00ef\u00bb\u00bfx", "\ufeffx"],
    "UTF-8 that is cut short": ["gr\u00c3", "gr\u00c3"],
  };
  await testRows(t, rows, ([bytes, expected]) => {
    assert.equal(readHeader(new Headers({ "x-a": bytes }), "X-A"), expected);
  });
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
