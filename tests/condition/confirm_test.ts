import assert from "node:assert/strict";
import type { Condition } from "../../src/domain/condition.ts";
import { confirm, count, COUNT_MAX, type Counters, NO_RESULTS } from "../../src/condition/condition_state.ts";
import { parseTrace } from "./traces.ts";
import { type Rows, testRows } from "../support/rows.ts";

Deno.test("confirm() moves to what enough results reach", async (t) => {
  const table: Rows<[observed: string, from: Condition, to: Condition]> = {
    "raised": ["W C", "ok", "warning"],
    "raised to the highest": ["C C", "ok", "critical"],
    "lowered": ["U O", "critical", "unknown"],
  };
  await testRows(t, table, ([observed, from, to]) => {
    const change = confirm(countAll(parseTrace(observed)), from, { threshold: 2, recoveryThreshold: 2 });
    assert.deepEqual(change, { from, to });
  });
});

Deno.test("count() stops at its maximum and still works", () => {
  const full: Counters = {
    atLeast: { ok: COUNT_MAX, unknown: COUNT_MAX, warning: COUNT_MAX, critical: 0 },
    atMost: { ok: 0, unknown: 0, warning: COUNT_MAX, critical: COUNT_MAX },
  };
  const next = count(full, "warning");
  assert.deepEqual(next, full);
  assert.equal(confirm(next, "ok", { threshold: COUNT_MAX, recoveryThreshold: 1 })?.to, "warning");
  assert.equal(count(full, "critical").atLeast.critical, 1);
});

function countAll(trace: readonly Condition[]): Counters {
  return trace.reduce((before, one) => count(before, one), NO_RESULTS);
}
