import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { type Condition, CONDITIONS, severity } from "../../src/domain/condition.ts";
import {
  confirm,
  type ConfirmationThresholds,
  count,
  COUNT_MAX,
  type Counters,
  NO_RESULTS,
  occurrences,
} from "../../src/condition/confirm.ts";
import { parseTrace } from "./traces.ts";
import { testRows } from "../support/rows.ts";

Deno.test("confirm() depends on the last check results", async (t) => {
  const table: Readonly<Record<string, ConfirmRow>> = {
    "equal problems are confirmed at the threshold": ["W W W", "O O W"],
    "problems of changing severity are confirmed with the lowest": ["W C W C", "O O W W"],
    "a problem of rising severity is confirmed twice": ["W W C C C", "O O W W C"],
    "an ok lowers no further than the window's highest": ["C C C W W O", "O O C C C W"],
    "an ok in between resets the count": ["W W O W W O W W W", "O O O O O O O O W"],
    "a single transient failure confirms nothing": ["O O O C O O O", "O O O O O O O"],
    "fewer check results than the threshold confirm nothing": ["C C", "O O"],
    "unknown has a lower severity than warning": ["U W W W", "O O U W"],
    "unknown does not lower a warning while it is mixed with one": ["W W W U U W", "O O W W W W"],
    "unknown lowers a warning": ["W W W U U U", "O O W W W U"],
    "a problem ends after as many ok results": ["C C C O O O", "O O C C C O"],
    "a transient ok does not end a problem": ["C C C O C O O C", "O O C C C C C C"],
    "with 1 and 1 it is the last check result": ["C O W U O", "C O W U O", { threshold: 1 }],
    "a recovery threshold of 1 ends a problem at once": ["W W W O W W W", "O O W O O O W", {
      recoveryThreshold: 1,
    }],
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
    "lowered to ok": ["O O O", "warning", 3, "the last 3 results were ok"],
    "by a single one": ["C", "ok", 1, "the last result was critical"],
  };
  await testRows(t, table, ([observed, from, threshold, reason]) => {
    const change = confirm(countAll(parseTrace(observed)), from, { threshold, recoveryThreshold: threshold });
    assert.deepEqual([change?.reason, change?.from], [reason, from]);
  });
});

Deno.test("occurrences() counts check results with at least the severity of the last one", async (t) => {
  const table: Readonly<Record<string, { observed: string; counts: readonly number[] }>> = {
    "equal ones add up": { observed: "W W W", counts: [1, 2, 3] },
    "results of higher severity count for a lower one": { observed: "C W C W", counts: [1, 2, 1, 4] },
    "results of lower severity do not count for a higher one": { observed: "W W C", counts: [1, 2, 1] },
    "ok counts ok only": { observed: "O O W O O O", counts: [1, 2, 1, 1, 2, 3] },
  };
  await testRows(t, table, ({ observed, counts }) => {
    const trace = parseTrace(observed);
    const seen = trace.map((condition, index) => occurrences(countAll(trace.slice(0, index + 1)), condition));
    assert.deepEqual(seen, counts);
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

Deno.test("confirm() applies changed thresholds to previous check results", async (t) => {
  const counters = countAll(parseTrace("W W W W O"));
  await t.step("a lower threshold applies without a restart", () => {
    const lower = { threshold: 2, recoveryThreshold: 2 };
    assert.equal(confirm(countAll(parseTrace("W W")), "ok", lower)?.to, "warning");
  });
  await t.step("a higher threshold keeps a confirmed problem confirmed", () => {
    const higher = { threshold: 9, recoveryThreshold: 9 };
    assert.equal(confirm(count(counters, "warning"), "warning", higher), null);
  });
  await t.step("a lower recovery threshold includes earlier ok results", () => {
    const lower = { threshold: 9, recoveryThreshold: 2 };
    assert.equal(confirm(count(counters, "ok"), "warning", lower)?.to, "ok");
  });
});

Deno.test("confirm() with counters agrees with the definition over the whole history", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...CONDITIONS), { maxLength: 80, size: "max" }),
      thresholds(),
      (trace, policy) => {
        assert.deepEqual(confirmAll(trace, policy), confirmByDefinition(trace, policy));
      },
    ),
    { numRuns: 2000 },
  );
});

Deno.test("confirm() reaches any condition after as many equal check results as the larger threshold", () => {
  const conditions = fc.array(fc.constantFrom(...CONDITIONS), { maxLength: 40, size: "max" });
  fc.assert(
    fc.property(conditions, fc.constantFrom(...CONDITIONS), thresholds(), (before, condition, policy) => {
      const run = new Array<Condition>(Math.max(policy.threshold, policy.recoveryThreshold)).fill(condition);
      assert.equal(confirmAll([...before, ...run], policy).at(-1), condition);
    }),
    { numRuns: 1000 },
  );
});

/** Results, the confirmed condition after each, and thresholds: 3, and for the recovery the same. */
type ConfirmRow = readonly [observed: string, confirmed: string, Partial<ConfirmationThresholds>?];

function thresholds(): fc.Arbitrary<ConfirmationThresholds> {
  return fc.record({
    threshold: fc.integer({ min: 1, max: 6 }),
    recoveryThreshold: fc.integer({ min: 1, max: 6 }),
  });
}

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

/** DESIGN 4 literally: lowest of the last T, highest of the last R, searched in the list of all results. */
function confirmByDefinition(trace: readonly Condition[], policy: ConfirmationThresholds): Condition[] {
  let confirmed: Condition = "ok";
  return trace.map((_, index) => {
    const levels = trace.slice(0, index + 1).map(severity);
    const forRaising = levels.slice(-policy.threshold);
    const forLowering = levels.slice(-policy.recoveryThreshold);
    const level = severity(confirmed);
    if (forRaising.length === policy.threshold && Math.min(...forRaising) > level) {
      confirmed = CONDITIONS[Math.min(...forRaising)] ?? confirmed;
    } else if (forLowering.length === policy.recoveryThreshold && Math.max(...forLowering) < level) {
      confirmed = CONDITIONS[Math.max(...forLowering)] ?? confirmed;
    }
    return confirmed;
  });
}
