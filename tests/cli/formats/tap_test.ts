import assert from "node:assert/strict";
import { Parser, type Result } from "tap-parser";
import type { FormatOptions, RunSummary } from "../../../src/cli/formats/format.ts";
import { tapFormat } from "../../../src/cli/formats/tap.ts";
import { printable } from "../../../src/shared/text.ts";
import { type Rows, testRows } from "../../support/rows.ts";
import { testTexts, unsafeCodes } from "./hostile_records.ts";
import { nothingDue, optionsOf, printed, recordOf, summaryOf } from "./records.ts";

Deno.test("tapFormat fails when nothing is active", () => {
  const text = printed(tapFormat, summaryOf([]));
  assert.deepEqual(parseTap(text).points.map(({ ok, name }) => ({ ok, name })), [{
    ok: false,
    name: "checks",
  }]);
  assert.match(text, /message: "no check is active"/);
});

Deno.test("tapFormat skips the whole run when nothing is due and all is ok", () => {
  const text = printed(tapFormat, nothingDue("ok"));
  assert.equal(text, "TAP version 14\n1..0 # SKIP no check is due\n");
  assert.deepEqual([parseTap(text).ok, parseTap(text).points], [true, []]);
});

Deno.test("tapFormat escapes the special characters of a description", async (t) => {
  const rows: Rows<[check: string, description: string]> = {
    "backslash before a hash": ["a \\# TODO", " - a \\\\\\# TODO"],
    "line break": ["a\nnot ok 2", " - a\\\\nnot ok 2"],
    "open brace at the end": ["a {", ' - "a {"'],
    "no name": [" ", ""],
  };
  await testRows(t, rows, ([name, description]) => {
    const summary = summaryOf([recordOf({ name })]);
    assert.equal(printed(tapFormat, summary), `TAP version 14\n1..1\nok 1${description} # time=12.1ms\n`);
    assertReadable(summary);
  });
});

testTexts("tapFormat", assertReadable);

/**
 * Asserts that a harness reads each check under its name, failing exactly if it fails the run, and no invalid line.
 */
function assertReadable(summary: RunSummary, options: FormatOptions = optionsOf()): void {
  const text = printed(tapFormat, summary, options);
  assert.deepEqual(unsafeCodes(text), []);
  const { points, extra, bailedOut, failures } = parseTap(text);
  assert.deepEqual(extra, []);
  assert.equal(bailedOut, false);
  assert.deepEqual(failures.filter((failure) => failure.tapError), []);
  const conditions = summary.records.map((record) => record.result.condition);
  const nothing = summary.reason === null ? [] : ["checks"];
  assert.deepEqual(
    points.map((point) => point.ok),
    [
      ...conditions.map((condition) => !options.fails(condition)),
      ...summary.unfinished.map(() => false),
      ...nothing.map(() => false),
    ],
  );
  const names = [
    ...summary.records.map((record) => record.result.check.name),
    ...summary.unfinished,
    ...nothing,
  ];
  assert.deepEqual(points.map((point) => point.name), names.map(describedAs));
  for (const point of points) assert.ok(!point.skip && !point.todo, "a name became a directive");
  for (const [index, { result }] of summary.records.entries()) {
    const diagnostics = points[index]?.diag;
    if (result.condition === "ok") {
      assert.ok(!diagnostics);
      continue;
    }
    assert.equal(diagnostics?.condition, result.condition);
    assert.equal(diagnostics?.severity, options.fails(result.condition) ? "fail" : "comment");
    assert.equal(diagnostics?.output, result.output.toWellFormed());
    assert.equal(diagnostics?.title, result.check.title?.toWellFormed());
    const detail = (diagnostics?.detail ?? []).join("\n");
    assert.equal(detail.trim(), result.detail.replaceAll("\r\n", "\n").toWellFormed().trim());
  }
}

function describedAs(name: string): string {
  const text = printable(name).trim();
  return text.endsWith("{") ? `"${text}"` : text;
}

function parseTap(text: string) {
  const points: Result[] = [];
  const extra: string[] = [];
  const parser = new Parser({ strict: true });
  parser.on("assert", (point: Result) => points.push(point));
  parser.on("extra", (line: string) => extra.push(line));
  parser.end(text);
  return { ok: parser.ok, points, extra, bailedOut: parser.bailedOut !== false, failures: parser.failures };
}
