import assert from "node:assert/strict";
import fc from "../../support/property.ts";
import { type Rows, testRows } from "../../support/rows.ts";
import { createOutputTail } from "../../../src/system/process/foreground.ts";

const encoder = new TextEncoder();

function tailOf(bytesMax: number, chunks: readonly (readonly [source: string, text: string])[]): string {
  const tail = createOutputTail(bytesMax);
  for (const [source, text] of chunks) tail.add(source, encoder.encode(text));
  return tail.text();
}

Deno.test("createOutputTail() keeps the end of the output", async (t) => {
  const rows: Rows<[chunks: readonly (readonly [string, string])[], text: string]> = {
    "nothing of note": [[["out", ""]], ""],
    "two sources, each on its own lines": [
      [["out", "half"], ["err", "oops\n"], ["out", " a line\n"]],
      "half\noops\n a line\n",
    ],
    "output after a flood": [[["out", "x".repeat(1000)], ["out", "\nend"]], "end"],
  };
  await testRows(t, rows, ([chunks, text]) => assert.equal(tailOf(99, chunks), text));
});

Deno.test("createOutputTail() accepts bytes that are no text", () => {
  const tail = createOutputTail(8);
  tail.add("out", new Uint8Array([0xff, 0x00, 0x41, 0xe2, 0x82]));
  assert.equal(tail.text(), "\ufffd\0A\ufffd");
});

Deno.test("createOutputTail() keeps the same text for any chunks", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "\n"), maxLength: 5000 });
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 700 }), fc.infiniteStream(fc.integer({ min: 1, max: 900 })), (
      text,
      bytesMax,
      sizes,
    ) => {
      const chunks: (readonly [string, string])[] = [];
      let rest = text;
      for (const size of sizes) {
        if (rest === "") break;
        chunks.push(["out", rest.slice(0, size)]);
        rest = rest.slice(size);
      }
      const end = text.slice(-bytesMax);
      const cut = end.indexOf("\n");
      const isWhole = text.length <= bytesMax || cut < 0 || cut === end.length - 1;
      assert.equal(tailOf(bytesMax, chunks), isWhole ? end : end.slice(cut + 1));
    }),
  );
});
