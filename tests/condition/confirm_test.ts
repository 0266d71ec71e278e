import assert from "node:assert/strict";
import type { Condition } from "../../src/domain/condition.ts";
import {
  confirm,
  type ConfirmationThresholds,
  count,
  COUNT_MAX,
  type Counters,
  NO_RESULTS,
} from "../../src/condition/confirm.ts";
import { parseTrace } from "./traces.ts";
import { testRows } from "../support/rows.ts";

Deno.test("confirm() depends on the last check results", async (t) => {
  const table: Readonly<Record<string, ConfirmRow>> = {
    "equal problems are confirmed at the threshold": ["W W W", "O O W"],
    "problems of changing severity are confirmed with the lowest": ["W C W C", "O O W W"],
    "an ok lowers no further than the window's highest": ["C C C W W O", "O O C C C W"],
    "a single transient failure confirms nothing": ["O O O C O O O", "O O O O O O O"],
    "unknown does not lower a warning while it is mixed with one": ["W W W U U W", "O O W W W W"],
    "a problem ends after as many ok results": ["C C C O O O", "O O C C C O"],
    "a recovery threshold above the threshold requires more results": ["C C O O O O", "O C C C C O", {
      threshold: 2,
      recoveryThreshold: 4,
    }],
    "with a long recovery a problem of falling severity stays until the window is full": [
      "C W W W C",
      "C C C W C",
      { threshold: 1, recoveryThreshold: 3 },
    ],
  };
  await testRows(t, table, ([observed, confirmed, policy = {}]) => {
    const { threshold = 3, recoveryThreshold = threshold } = policy;
    assert.deepEqual(
      confirmAll(parseTrace(observed), { threshold, recoveryThreshold }),
      parseTrace(confirmed),
    );
  });
});

Deno.test("confirm() returns the check results that decided", async (t) => {
  const table: Readonly<
    Record<string, readonly [observed: string, from: Condition, threshold: number, reason: string]>
  > = {
    "raised": ["W C", "ok", 2, "the last 2 results were warning or worse"],
    "raised to the highest": ["C C", "ok", 2, "the last 2 results were critical"],
    "lowered": ["U O", "critical", 2, "the last 2 results were unknown or better"],
  };
  await testRows(t, table, ([observed, from, threshold, reason]) => {
    const change = confirm(countAll(parseTrace(observed)), from, { threshold, recoveryThreshold: threshold });
    assert.deepEqual([change?.reason, change?.from], [reason, from]);
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

/** Results, the confirmed condition after each, and thresholds: 3, and for the recovery the same. */
type ConfirmRow = readonly [observed: string, confirmed: string, Partial<ConfirmationThresholds>?];

function countAll(trace: readonly Condition[]): Counters {
  return trace.reduce(count, NO_RESULTS);
}

function confirmAll(trace: readonly Condition[], policy: ConfirmationThresholds): Condition[] {
  let counters = NO_RESULTS;
  let confirmed: Condition = "ok";
  return trace.map((condition) => {
    counters = count(counters, condition);
    confirmed = confirm(counters, confirmed, policy)?.to ?? confirmed;
    return confirmed;
  });
}
