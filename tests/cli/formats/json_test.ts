import assert from "node:assert/strict";
import type { RunSummary } from "../../../src/cli/formats/format.ts";
import { jsonFormat, ndjsonFormat } from "../../../src/cli/formats/json.ts";
import { testTexts, unsafeCodes } from "./hostile_records.ts";
import { optionsOf, printed, recordOf, summaryOf } from "./records.ts";

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

Deno.test("ndjsonFormat prints the fields that json prints for a check", () => {
  const summary = summaryOf([recordOf({ detail: "a\nb", performanceData: "x=1" })]);
  const { event, ...fields } = JSON.parse(
    ndjsonFormat.record?.(recordOf({ detail: "a\nb", performanceData: "x=1" }), optionsOf()) ?? "",
  );
  assert.equal(event, "result");
  assert.deepEqual(fields, JSON.parse(printed(jsonFormat, summary)).checks[0]);
});

testTexts("ndjsonFormat", assertLines);

function assertLines(summary: RunSummary): void {
  const text = printed(ndjsonFormat, summary);
  assert.deepEqual(unsafeCodes(text), []);
  // Every character that some parser treats as a newline.
  const lines = text.split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/);
  assert.equal(lines.pop(), "");
  const events = lines.map((line) => JSON.parse(line));
  assert.deepEqual(events.map((event) => event.event), [...summary.records.map(() => "result"), "summary"]);
  for (const [index, { result }] of summary.records.entries()) {
    assert.equal(events[index].name, result.check.name);
    assert.equal(events[index].output, result.output);
    assert.equal(events[index].detail, result.detail);
  }
}
