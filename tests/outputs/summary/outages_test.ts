import assert from "node:assert/strict";
import fc from "../../support/property.ts";
import { type Condition, CONDITIONS, severity } from "../../../src/domain/condition.ts";
import type { ConditionChange } from "../../../src/domain/store.ts";
import { outagesOf } from "../../../src/outputs/summary/summarize.ts";
import { changeOf, recordOf } from "../../state/records.ts";

interface Traced {
  /** The confirmed condition of each time from 0 on, `ok` first. */
  readonly conditions: readonly Condition[];
  readonly sinceMs: number;
  readonly untilMs: number;
}

const TRACES = fc.record({
  conditions: fc.array(fc.constantFrom(...CONDITIONS), { minLength: 30, maxLength: 30 }),
  sinceMs: fc.integer({ min: 0, max: 14 }),
  untilMs: fc.integer({ min: 15, max: 29 }),
}).map(({ conditions, ...period }): Traced => ({ ...period, conditions: conditions.with(0, "ok") }));

function changesOf(conditions: readonly Condition[]): readonly ConditionChange[] {
  return conditions.flatMap((to, atMs) => {
    const from = conditions[atMs - 1] ?? "ok";
    return from === to ? [] : [changeOf("web", atMs, { from, to, output: `${to} at ${atMs}` })];
  });
}

/** The outages by a naive algorithm: each time that is down in the period, joined with those next to it. */
function naiveOutages({ conditions, sinceMs, untilMs }: Traced): readonly unknown[] {
  const isDown = (atMs: number): boolean => severity(conditions[atMs] ?? "ok") % 2 === 1;
  const found: unknown[] = [];
  for (let atMs = sinceMs; atMs <= untilMs; atMs++) {
    if (!isDown(atMs) || atMs > sinceMs && isDown(atMs - 1)) continue;
    let fromMs = atMs;
    while (isDown(fromMs - 1)) fromMs--;
    let toMs = atMs;
    while (toMs <= untilMs && isDown(toMs)) toMs++;
    const own = conditions.slice(sinceMs, untilMs + 1).slice(Math.max(0, atMs - sinceMs), toMs - sinceMs);
    // Before the period, an outage is known by its last change.
    const known = fromMs < sinceMs ? lastChangeBefore(conditions, sinceMs) : fromMs;
    found.push({
      condition: own.includes("critical") ? "critical" : "unknown",
      fromMs: known,
      toMs: Math.min(toMs, untilMs),
      end: toMs > untilMs ? "still_down" : "recovered",
      output: `${conditions[known]} at ${known}`,
    });
  }
  return found;
}

function lastChangeBefore(conditions: readonly Condition[], timeMs: number): number {
  let atMs = timeMs;
  while (atMs > 0 && conditions[atMs] === conditions[atMs - 1]) atMs--;
  return atMs;
}

Deno.test("outagesOf() finds the outages that a walk through all times finds", () => {
  // The walk takes a severity that is odd for downtime.
  assert.deepEqual(CONDITIONS.filter((one) => severity(one) % 2 === 1), ["unknown", "critical"]);
  fc.assert(fc.property(TRACES, (traced) => {
    const { conditions, sinceMs, untilMs } = traced;
    const all = changesOf(conditions).toReversed();
    const found = outagesOf({
      record: recordOf("web"),
      changes: all.filter(({ atMs }) => atMs > sinceMs),
      earlier: all.find(({ atMs }) => atMs <= sinceMs) ?? null,
    }, { sinceMs, untilMs });
    assert.deepEqual(found, naiveOutages(traced));
  }));
});

Deno.test("outagesOf() uses the record if no change is stored, and the next change if the last one is not", () => {
  const base = recordOf("web");
  const record = { ...base, condition: { ...base.condition, confirmed: "critical" as const } };
  const period = { sinceMs: base.condition.confirmedSinceMs ?? 0, untilMs: base.overdueAtMs ?? 0 };
  const [lasting] = outagesOf({ record, changes: [], earlier: null }, period);
  assert.deepEqual([lasting?.fromMs, lasting?.end], [base.condition.confirmedSinceMs, "still_down"]);
  const recovery = changeOf("web", period.sinceMs + 50, { from: "critical", to: "ok" });
  const [ended] = outagesOf({ record: base, changes: [recovery], earlier: null }, period);
  assert.deepEqual([ended?.fromMs, ended?.toMs, ended?.end], [period.sinceMs, recovery.atMs, "recovered"]);
  assert.deepEqual(outagesOf({ record: null, changes: [], earlier: null }, period), []);
});

Deno.test("outagesOf() ends with the last run of a check that is overdue", () => {
  const base = recordOf("web");
  const record = { ...base, condition: { ...base.condition, confirmed: "critical" as const } };
  const history = { record, changes: [], earlier: null };
  const [fromMs, toMs] = [base.condition.confirmedSinceMs ?? 0, base.condition.observedAtMs ?? 0];
  const untilMs = (base.overdueAtMs ?? 0) + 1;
  const [unobserved] = outagesOf(history, { sinceMs: fromMs, untilMs });
  assert.deepEqual([unobserved?.fromMs, unobserved?.toMs, unobserved?.end], [fromMs, toMs, "unobserved"]);
  assert.deepEqual(outagesOf(history, { sinceMs: toMs, untilMs }), [], "it was not observed in the period");
});
