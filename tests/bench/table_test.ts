import assert from "node:assert/strict";
import { renderTable } from "../../bench/table.ts";

Deno.test("renderTable() shows aims, earlier values and changes", () => {
  const text = renderTable([
    { name: "requests", value: 1.25, unit: "×", aim: 1.25, earlier: 1.3, note: "12 µs to 10 µs" },
    { name: "scripts", value: 1.5, unit: "×", aim: 1.15, earlier: 1.5 },
    { name: "memory", value: 1234.5, unit: "MB", earlier: 1000 },
    { name: "peak", value: null, unit: "MB", aim: 160, earlier: 100, note: "the system does not tell it" },
    { name: "new", value: 0.5, unit: "%", earlier: null },
  ]);
  assert.deepStrictEqual(text.split("\n"), [
    "  requests    1.25 ×  within 1.25   was 1.30   -4 %  12 µs to 10 µs",
    "  scripts     1.50 ×  MISSES 1.15   was 1.50   same",
    "  memory    1,235 MB               was 1,000  +23 %",
    "  peak             -                 was 100         the system does not tell it",
    "  new         0.50 %",
  ]);
});

Deno.test("renderTable() leaves out columns that nothing is in", () => {
  assert.strictEqual(
    renderTable([{ name: "one", value: 1, unit: "×", earlier: null, note: "a note" }]),
    "  one  1.00 ×  a note",
  );
});
