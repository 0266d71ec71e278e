import assert from "node:assert/strict";
import { changePercent, flaps } from "../../src/condition/flapping.ts";

Deno.test("changePercent() weighs the 20 changes between 21 results as Nagios does", () => {
  const rows: Readonly<Record<string, readonly [recent: string, percent: number]>> = {
    "no change": ["o".repeat(21), 0],
    "too few results": ["oc".repeat(10), 0],
    "every result": ["oc".repeat(10) + "o", 100],
    "the oldest": ["c" + "o".repeat(20), 4],
    "the newest": ["o".repeat(20) + "c", 6],
    "older ones than 21 do not count": ["oc".repeat(10) + "o".repeat(21), 0],
    "between problems": ["w".repeat(20) + "c", 6],
  };
  for (const [name, [recent, percent]] of Object.entries(rows)) {
    assert.equal(Math.round(changePercent(recent) * 1e6) / 1e6, percent, name);
  }
});

Deno.test("flaps() begins at 20 % and ends below 5 %", () => {
  // Each of the newest changes weighs nearly 6 %.
  const threeChanges = "o".repeat(18) + "coc";
  const fourChanges = "o".repeat(17) + "coco";
  const oneChange = "o".repeat(20) + "c";
  const anOldChange = "c" + "o".repeat(20);
  assert.deepEqual([threeChanges, fourChanges].map((recent) => flaps(recent, false)), [false, true]);
  assert.deepEqual([threeChanges, oneChange, anOldChange].map((recent) => flaps(recent, true)), [
    true,
    true,
    false,
  ]);
});
