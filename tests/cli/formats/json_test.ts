import assert from "node:assert/strict";
import type { RunSummary } from "../../../src/cli/formats/format.ts";
import { jsonFormat } from "../../../src/cli/formats/json.ts";
import { testTexts, unsafeCodes } from "./hostile_records.ts";
import { printed, recordOf, summaryOf } from "./records.ts";

Deno.test("jsonFormat prints a whole object when nothing ran", () => {
  assert.deepEqual(JSON.parse(printed(jsonFormat, summaryOf([], { durationMs: 0 }))), {
    condition: "unknown",
    reason: "no check is active",
    started_at: "2026-01-31T10:00:00.000Z",
    duration_ms: 0,
    checks: [],
    unfinished: [],
  });
});

Deno.test("jsonFormat omits metrics that JSON has no number for", () => {
  const summary = summaryOf([recordOf({ metrics: { a: NaN, b: Infinity, c: -1.5 } })]);
  assert.deepEqual(JSON.parse(printed(jsonFormat, summary)).checks[0].metrics, { c: -1.5 });
});

testTexts("jsonFormat", assertRoundTrip);

function assertRoundTrip(summary: RunSummary): void {
  const text = printed(jsonFormat, summary);
  assert.deepEqual(unsafeCodes(text), []);
  const run = JSON.parse(text);
  assert.deepEqual(run.unfinished, summary.unfinished);
  assert.equal(run.checks.length, summary.records.length);
  for (const [index, { result }] of summary.records.entries()) {
    const check = run.checks[index];
    assert.equal(check.name, result.check.name);
    assert.equal(check.title, result.check.title ?? null);
    assert.equal(check.output, result.output);
    assert.equal(check.detail, result.detail);
    assert.equal(check.performance_data, result.performanceData);
    const finite = Object.entries(result.metrics).filter(([, value]) => Number.isFinite(value));
    assert.deepEqual(Object.keys(check.metrics).toSorted(), finite.map(([name]) => name).toSorted());
  }
}
