import assert from "node:assert/strict";
import { renderTable } from "../../bench/table.ts";

Deno.test("renderTable() shows values with their aims", () => {
  const text = renderTable([
    { name: "requests", value: 1.25, unit: "×", aim: 1.25, note: "12 µs to 10 µs" },
    { name: "scripts", value: 1.5, unit: "×", aim: 1.15 },
    { name: "memory", value: 1234.5, unit: "MB" },
    { name: "peak", value: null, unit: "MB", aim: 160, note: "not available on this system" },
  ]);
  assert.deepStrictEqual(text.split("\n"), [
    "  requests    1.25 ×  within 1.25  12 µs to 10 µs",
    "  scripts     1.50 ×  MISSES 1.15",
    "  memory    1,235 MB",
    "  peak             -               not available on this system",
  ]);
});

Deno.test("renderTable() omits empty columns", () => {
  assert.strictEqual(
    renderTable([{ name: "one", value: 1, unit: "×", note: "a note" }]),
    "  one  1.00 ×  a note",
  );
});
