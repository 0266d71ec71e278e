import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type Condition, CONDITIONS, highestSeverity, severity } from "../../src/domain/condition.ts";
import { testRows } from "../support/rows.ts";

Deno.test("severity() orders ok, unknown, warning, critical", () => {
  const shuffled: readonly Condition[] = ["critical", "ok", "warning", "unknown"];
  deepStrictEqual(shuffled.toSorted((a, b) => severity(a) - severity(b)), [
    "ok",
    "unknown",
    "warning",
    "critical",
  ]);
  deepStrictEqual(CONDITIONS.map(severity), [0, 1, 2, 3]);
});

Deno.test("highestSeverity() returns the condition with the highest severity", async (t) => {
  const rows: Readonly<Record<string, readonly [conditions: Iterable<Condition>, expected: Condition]>> = {
    "none": [[], "ok"],
    "one ok": [["ok"], "ok"],
    "one unknown": [["unknown"], "unknown"],
    "unknown among ok": [["ok", "unknown", "ok"], "unknown"],
    "warning before unknown": [["warning", "unknown"], "warning"],
    "unknown before warning": [["unknown", "warning"], "warning"],
    "critical first": [["critical", "warning", "unknown", "ok"], "critical"],
    "critical last": [["ok", "unknown", "warning", "critical"], "critical"],
    "the same twice": [["warning", "warning"], "warning"],
    "a set": [new Set<Condition>(["ok", "warning"]), "warning"],
  };
  await testRows(t, rows, ([conditions, expected]) => strictEqual(highestSeverity(conditions), expected));
});

Deno.test("highestSeverity() agrees with severity() for every pair", () => {
  for (const a of CONDITIONS) {
    for (const b of CONDITIONS) {
      strictEqual(severity(highestSeverity([a, b])), Math.max(severity(a), severity(b)), `${a} and ${b}`);
    }
  }
});
