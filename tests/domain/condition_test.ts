import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { badness, type Condition, CONDITIONS, worst } from "../../src/domain/condition.ts";

Deno.test("badness() orders ok, unknown, warning, critical", () => {
  const shuffled: readonly Condition[] = ["critical", "ok", "warning", "unknown"];
  deepStrictEqual(shuffled.toSorted((a, b) => badness(a) - badness(b)), [
    "ok",
    "unknown",
    "warning",
    "critical",
  ]);
  deepStrictEqual(CONDITIONS.map(badness), [0, 1, 2, 3]);
});

Deno.test("worst() finds the worst of some conditions", async (t) => {
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
  for (const [name, [conditions, expected]] of Object.entries(rows)) {
    await t.step(name, () => strictEqual(worst(conditions), expected));
  }
});

Deno.test("worst() agrees with badness() for every pair", () => {
  for (const a of CONDITIONS) {
    for (const b of CONDITIONS) {
      strictEqual(badness(worst([a, b])), Math.max(badness(a), badness(b)), `${a} and ${b}`);
    }
  }
});
