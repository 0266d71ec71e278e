import assert from "node:assert/strict";
import { changePercent } from "../../src/condition/condition_state.ts";
import type { Rows } from "../support/rows.ts";

Deno.test("changePercent() weighs the 20 changes between 21 results as Nagios does", () => {
  const rows: Rows<[recent: string, percent: number]> = {
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
