import assert from "node:assert/strict";
import { DOMParser, type Element } from "@xmldom/xmldom";
import fc from "../../support/property.ts";
import { campaign } from "../../../testing/seed.ts";
import { validateXML } from "xmllint-wasm";
import type { FormatOptions, RunSummary } from "../../../src/cli/formats/format.ts";
import { junitFormat } from "../../../src/cli/formats/junit.ts";
import { everyHostileRecord, HUGE_TEXTS, hugeSummary, unsafeCodes } from "./hostile_records.ts";
import {
  anySummary,
  failsOnCritical,
  nothingDue,
  optionsOf,
  printed,
  recordOf,
  summaryOf,
} from "./records.ts";

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
    assertReadable(summary, optionsOf()),
    assertReadable(summary, optionsOf({ fails: failsOnCritical })),
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
function assertReadable(summary: RunSummary, options: FormatOptions): string {
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
  // The one warning is for U+FFFD, which stands here on purpose.
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
