import assert from "node:assert/strict";
import fc from "../../support/property.ts";
import { createOutputTail } from "../../../src/system/process/output_tail.ts";

const encoder = new TextEncoder();

function tailOf(bytesMax: number, chunks: readonly (readonly [source: string, text: string])[]): string {
  const tail = createOutputTail(bytesMax);
  for (const [source, text] of chunks) tail.add(source, encoder.encode(text));
  return tail.text();
}

Deno.test("createOutputTail() keeps the end of the output", async (t) => {
  const table: readonly {
    name: string;
    bytesMax: number;
    chunks: readonly (readonly [source: string, text: string])[];
    text: string;
  }[] = [
    { name: "nothing of note", bytesMax: 9, chunks: [["out", ""]], text: "" },
    { name: "the end of a line with a newline", bytesMax: 3, chunks: [["out", "abcdef\n"]], text: "ef\n" },
    {
      name: "a line in pieces",
      bytesMax: 9,
      chunks: [["out", "a"], ["out", "b"], ["out", "\nc"]],
      text: "ab\nc",
    },
    {
      name: "two sources, each on its own lines",
      bytesMax: 99,
      chunks: [["out", "half"], ["err", "oops\n"], ["out", " a line\n"]],
      text: "half\noops\n a line\n",
    },
    {
      name: "output after a flood",
      bytesMax: 4,
      chunks: [["out", "x".repeat(1000)], ["out", "\nend"]],
      text: "end",
    },
  ];
  for (const { name, bytesMax, chunks, text } of table) {
    await t.step(name, () => assert.equal(tailOf(bytesMax, chunks), text));
  }
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
