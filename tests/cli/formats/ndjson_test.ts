import assert from "node:assert/strict";
import type { RunSummary } from "../../../src/cli/formats/format.ts";
import { jsonFormat } from "../../../src/cli/formats/json.ts";
import { ndjsonFormat } from "../../../src/cli/formats/ndjson.ts";
import { testTexts, unsafeCodes } from "./hostile_records.ts";
import { optionsOf, printed, recordOf, summaryOf } from "./records.ts";

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
