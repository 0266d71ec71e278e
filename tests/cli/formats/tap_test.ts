import assert from "node:assert/strict";
import { Parser, type Result } from "tap-parser";
import type { FormatOptions, RunSummary } from "../../../src/cli/formats/format.ts";
import { tapFormat } from "../../../src/cli/formats/tap.ts";
import { printable } from "../../../src/shared/printable.ts";
import { testTexts, unsafeCodes } from "./hostile_records.ts";
import { failsOnCritical, nothingDue, optionsOf, printed, recordOf, summaryOf } from "./records.ts";

Deno.test("tapFormat prints a plan, a test point for each check, and diagnostics for failures", () => {
  const summary = summaryOf([
    recordOf({ name: "backup", output: "age is 2 h" }),
    recordOf({
      name: "web",
      title: "Website",
      kind: "http_request",
      condition: "critical",
      output: 'body does not contain "hello"',
      detail: "first\nsecond\n",
    }),
    recordOf({ name: "disk #1", condition: "warning", output: "90 % used" }),
  ], { unfinished: ["mail"] });
  assert.equal(
    printed(tapFormat, summary, optionsOf({ fails: failsOnCritical })),
    `TAP version 14
1..4
ok 1 - backup # time=12.1ms
not ok 2 - web # time=12.1ms
  ---
  message: "body does not contain \\"hello\\""
  severity: "fail"
  condition: "critical"
  kind: "http_request"
  title: "Website"
  output: "body does not contain \\"hello\\""
  detail:
    - "first"
    - "second"
  ...
ok 3 - disk \\#1 # time=12.1ms
  ---
  message: "90 % used"
  severity: "comment"
  condition: "warning"
  kind: "test"
  output: "90 % used"
  ...
not ok 4 - mail
  ---
  message: "no result (interrupted)"
  severity: "fail"
  ...
`,
  );
});

Deno.test("tapFormat fails when nothing is active", () => {
  const text = printed(tapFormat, summaryOf([]));
  const { ok, points } = parseTap(text);
  assert.equal(ok, false);
  assert.deepEqual(points.map(({ ok, name }) => ({ ok, name })), [{ ok: false, name: "checks" }]);
  assert.match(text, /message: "no check is active"/);
});

Deno.test("tapFormat skips the whole run when nothing is due and all is ok", () => {
  const text = printed(tapFormat, nothingDue("ok"));
  assert.equal(text, "TAP version 14\n1..0 # SKIP no check is due\n");
  const { ok, points } = parseTap(text);
  assert.equal(ok, true);
  assert.deepEqual(points, []);
});

Deno.test("tapFormat escapes the special characters of a description", async (t) => {
  const cases: readonly (readonly [name: string, check: string, line: string])[] = [
    ["hash", "a # SKIP b", "ok 1 - a \\# SKIP b # time=12.1ms"],
    ["backslash before a hash", "a \\# TODO", "ok 1 - a \\\\\\# TODO # time=12.1ms"],
    ["backslash", "C:\\new", "ok 1 - C:\\\\new # time=12.1ms"],
    ["line break", "a\nnot ok 2", "ok 1 - a\\\\nnot ok 2 # time=12.1ms"],
    ["open brace at the end", "a {", 'ok 1 - "a {" # time=12.1ms'],
    ["no name", " ", "ok 1 # time=12.1ms"],
    ["a number", "7", "ok 1 - 7 # time=12.1ms"],
  ];
  for (const [name, check, line] of cases) {
    await t.step(name, () => {
      assert.equal(
        printed(tapFormat, summaryOf([recordOf({ name: check })])),
        `TAP version 14\n1..1\n${line}\n`,
      );
      assertReadable(summaryOf([recordOf({ name: check })]));
    });
  }
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

interface ParsedTap {
  readonly ok: boolean;
  readonly points: readonly Result[];
  /** Lines that are no TAP. */
  readonly extra: readonly string[];
  readonly bailedOut: boolean;
  readonly failures: readonly { readonly tapError?: unknown }[];
}

function parseTap(text: string): ParsedTap {
  const points: Result[] = [];
  const extra: string[] = [];
  const parser = new Parser({ strict: true });
  parser.on("assert", (point: Result) => points.push(point));
  parser.on("extra", (line: string) => extra.push(line));
  parser.end(text);
  return { ok: parser.ok, points, extra, bailedOut: parser.bailedOut !== false, failures: parser.failures };
}
