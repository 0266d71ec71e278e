import assert from "node:assert/strict";
import { type FormatOptions, notDueReason, type RunSummary } from "../../../src/cli/formats/format.ts";
import { jsonFormat, ndjsonFormat } from "../../../src/cli/formats/json.ts";
import { everyHostileRecord, HUGE_TEXTS, hugeSummary, testTexts, unsafeCodes } from "./hostile_records.ts";
import {
  anySummary,
  failsOnCritical,
  nothingDue,
  optionsOf,
  printed,
  recordOf,
  summaryOf,
} from "./records.ts";
import { githubFormat } from "../../../src/cli/formats/github.ts";
import type { ShownCondition } from "../../../src/domain/condition.ts";
import { type Rows, testRows } from "../../support/rows.ts";
import { Parser, type Result } from "tap-parser";
import { tapFormat } from "../../../src/cli/formats/tap.ts";
import { printable } from "../../../src/shared/text.ts";
import { DOMParser, type Element } from "@xmldom/xmldom";
import fc from "../../support/property.ts";
import { campaign } from "../../../testing/seed.ts";
import { validateXML } from "xmllint-wasm";
import { junitFormat } from "../../../src/cli/formats/junit.ts";

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

Deno.test("githubFormat annotates checks without a result, and a run of nothing that fails", () => {
  const interrupted = summaryOf([recordOf({ name: "fine" })], { unfinished: ["web"] });
  assert.equal(printed(githubFormat, interrupted), "::error title=monitor::web: no result (interrupted)\n");
  assert.equal(printed(githubFormat, summaryOf([])), "::error title=monitor::no check is active\n");
  assert.equal(printed(githubFormat, nothingDue("ok")), "");
});

Deno.test("githubFormat makes a failure that passes the run a warning", () => {
  const summary = summaryOf([recordOf({ name: "web", condition: "warning", output: "slow" })]);
  const locate = () => ({ file: "a.json", line: 3, column: 7 });
  assert.equal(
    printed(githubFormat, summary, optionsOf({ fails: failsOnCritical, locate })),
    "::warning file=a.json,line=3,col=7,title=monitor::web: warning: slow\n",
  );
});

function shown(name: string, condition: ShownCondition, output = "") {
  return { name, condition, output };
}

Deno.test("notDueReason() names the checks that are not ok, the most urgent first", async (t) => {
  const many = Array.from({ length: 7 }, (_, index) => shown(`c${index}`, "unknown", "never ran"));
  const rows: Rows<[Parameters<typeof notDueReason>[0], string]> = {
    "all ok": [[shown("a", "ok", "fine")], "no check is due"],
    "some": [
      [
        shown("a", "ok"),
        shown("b", "pending", "critical, 1 of 3"),
        shown("c", "unknown"),
        shown("d", "critical", "x\ny"),
      ],
      "no check is due; d is critical: x\\ny; c is unknown; b is pending: critical, 1 of 3",
    ],
    "many": [
      many,
      `no check is due; ${
        many.slice(0, 5).map(({ name }) => `${name} is unknown: never ran`).join("; ")
      }; 2 more are not ok`,
    ],
    "long ones": [
      [shown("n".repeat(500), "warning", "o".repeat(500))],
      `no check is due; ${"n".repeat(59)}… is warning: ${"o".repeat(99)}…`,
    ],
  };
  await testRows(t, rows, ([checks, expected]) => assert.equal(notDueReason(checks), expected));
});

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
    assertReadableTap(summary);
  });
});

testTexts("tapFormat", assertReadableTap);

/**
 * Asserts that a harness reads each check under its name, failing exactly if it fails the run, and no invalid line.
 */
function assertReadableTap(summary: RunSummary, options: FormatOptions = optionsOf()): void {
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

const SCHEMA = Deno.readTextFileSync(new URL("./testdata/junit_report.xsd", import.meta.url));

Deno.test("junitFormat cuts a long message, not the text", () => {
  const output = "x".repeat(999) + "🚀".repeat(10);
  const { cases } = parseReport(
    printed(junitFormat, summaryOf([recordOf({ condition: "critical", output })])),
  );
  assert.equal(cases[0]?.message, `${"x".repeat(999)}…`);
  assert.equal(cases[0]?.text, output);
});

Deno.test("junitFormat calls a stored condition what it calls that of a run", async () => {
  const rows = [["unknown", "error"], ["warning", "failure"], ["critical", "failure"]] as const;
  const reports = rows.map(([condition]) => printed(junitFormat, nothingDue(condition)));
  for (const [index, [condition, element]] of rows.entries()) {
    const report = reports[index] ?? "";
    assert.match(report, new RegExp(`<${element} type="${condition}" message="no check is due">`));
    assert.match(report, element === "error" ? /failures="0" errors="1"/ : /failures="1" errors="0"/);
  }
  assert.deepEqual(await schemaErrors(reports), []);
});

Deno.test("junitFormat stays valid and keeps its texts with hostile, huge and any texts in place", async () => {
  const summaries = [
    summaryOf([]),
    summaryOf([recordOf({ durationMs: 0 }), recordOf({ durationMs: 1e9 })], { unfinished: ["a", ""] }),
    everyHostileRecord(),
    ...HUGE_TEXTS.map(([, text]) => hugeSummary(text)),
    ...fc.sample(anySummary(), campaign(300, 4)),
  ];
  const reports = summaries.flatMap((summary) => [
    assertReadableJunit(summary, optionsOf()),
    assertReadableJunit(summary, optionsOf({ fails: failsOnCritical })),
  ]);
  assert.deepEqual(await schemaErrors(reports), []);
});

/** Returns the errors of libxml2 in JUnit files; none if they are valid. */
async function schemaErrors(reports: readonly string[]): Promise<readonly string[]> {
  const xml = reports.map((contents, index) => ({ fileName: `${index}.xml`, contents }));
  const { valid, errors } = await validateXML({ xml, schema: [SCHEMA], maxMemoryPages: 65536 });
  assert.equal(valid, errors.length === 0);
  return errors.map((error) => error.rawMessage);
}

/**
 * Asserts that each check is found under its name, failing exactly if it fails the run, with its text whole. Returns
 * the JUnit file.
 */
function assertReadableJunit(summary: RunSummary, options: FormatOptions): string {
  const report = printed(junitFormat, summary, options);
  assert.deepEqual(unsafeCodes(report), []);
  const { suite, cases } = parseReport(report);
  const expected = [
    ...summary.records.map(({ result }) => {
      const text = [result.output, result.detail].filter((part) => part !== "").join("\n");
      const fails = options.fails(result.condition);
      const problem = result.condition === "unknown" ? "error" : "failure";
      return {
        name: allowed(result.check.name),
        className: `monitor.${result.check.kind}`,
        element: fails ? problem : text === "" ? null : "system-out",
        text: allowed(text),
      };
    }),
    ...summary.unfinished.map((name) => ({
      name: allowed(name),
      className: "monitor.unfinished",
      element: "error",
      text: "no result (interrupted)",
    })),
    ...summary.reason === null ? [] : [{
      name: "checks",
      className: "monitor.unknown",
      element: "error",
      text: summary.reason,
    }],
  ];
  assert.deepEqual(cases.map(({ message: _, ...rest }) => rest), expected);
  const count = (element: string) => String(expected.filter((test) => test.element === element).length);
  assert.deepEqual(suite, {
    tests: String(expected.length),
    failures: count("failure"),
    errors: count("error"),
  });
  return report;
}

/** Returns the part of a text that XML 1.0 allows. */
function allowed(text: string): string {
  return Array.from(text.toWellFormed(), (character) => {
    const code = character.codePointAt(0) ?? 0;
    const isControl = code < 0x20 && character !== "\n" && character !== "\t" && character !== "\r";
    return isControl || code === 0xfffe || code === 0xffff ? "\ufffd" : character;
  }).join("");
}

function parseReport(report: string) {
  // The one warning is for U+FFFD, which is intended.
  const onError = (level: string, message: string) => assert.equal(level, "warning", message);
  const document = new DOMParser({ onError }).parseFromString(report, "text/xml");
  const [suite] = elements(document.documentElement);
  assert.ok(suite);
  const cases = elements(suite).filter((element) => element.tagName === "testcase").map((test) => {
    const [notified] = elements(test);
    return {
      name: test.getAttribute("name"),
      className: test.getAttribute("classname"),
      element: notified?.tagName ?? null,
      text: notified?.textContent ?? "",
      message: notified?.getAttribute("message") ?? null,
    };
  });
  const counts = ["tests", "failures", "errors"].map((name) => [name, suite.getAttribute(name)]);
  return { suite: Object.fromEntries(counts), cases };
}

function elements(parent: Element | null): readonly Element[] {
  return Array.from(parent?.childNodes ?? []).filter((node) =>
    node.nodeType === node.ELEMENT_NODE
  ) as Element[];
}
