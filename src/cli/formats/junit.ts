import type { Condition } from "../../domain/condition.ts";
import type { Result } from "../../domain/result.ts";
import type { Format, FormatOptions, RunSummary } from "./format.ts";
import { truncate } from "../../shared/truncate.ts";
import { NO_CHECKS, NO_RESULT } from "./without_result.ts";
import { xmlAttribute, xmlText } from "./xml_text.ts";

/*
 * The file conforms to Jenkins' schemas (junit-4.xsd and junit-10.xsd of its xUnit plugin), and contains everything
 * that Windy Road's JUnit.xsd requires, including host name and empty suite output. It deviates from the last one in
 * a single point: the output of a passing check is in its `testcase`, where CI systems show it, and JUnit.xsd has no
 * such element.
 */

/** Readers show the message on one line or in a column; the text of the element has all of it. */
const MESSAGE_LENGTH_MAX = 1000;

/** The element for a condition that fails the run: `unknown` means no data, which JUnit calls an error. */
const FAILURE_ELEMENTS: Readonly<Record<Condition, "failure" | "error">> = {
  ok: "failure",
  unknown: "error",
  warning: "failure",
  critical: "failure",
};

interface TestCase {
  readonly className: string;
  readonly name: string;
  readonly durationMs: number;
  readonly verdict: "pass" | "failure" | "error";
  readonly content: string;
}

/**
 * JUnit XML, printed at the end of the run. It fails exactly the checks that the exit code fails: `warning` and
 * `critical` as failures, `unknown` and checks without a result as errors; the output of the others is in `system-out`.
 */
export const junitFormat: Format = {
  record: () => "",
  summary: (summary, options) => {
    const cases = [
      ...summary.records.map((record) => finishedCase(record.result, options)),
      ...summary.unfinished.map((name) =>
        caseWithout(name, { type: "unfinished", verdict: "error", reason: NO_RESULT })
      ),
      ...(summary.reason !== null && options.fails(summary.condition)
        ? [caseWithout(NO_CHECKS, {
          type: summary.condition,
          verdict: FAILURE_ELEMENTS[summary.condition],
          reason: summary.reason,
        })]
        : []),
    ];
    return '<?xml version="1.0" encoding="UTF-8"?>\n' +
      `<testsuites>\n${testSuite(summary, cases)}</testsuites>\n`;
  },
};

function testSuite(summary: RunSummary, cases: readonly TestCase[]): string {
  const count = (verdict: TestCase["verdict"]) =>
    String(cases.filter((test) => test.verdict === verdict).length);
  const suite = attributes({
    name: "monitor",
    package: "monitor",
    id: "0",
    tests: String(cases.length),
    failures: count("failure"),
    errors: count("error"),
    time: seconds(summary.durationMs),
    // JUnit.xsd forbids a time zone; the time is UTC.
    timestamp: new Date(summary.startedAtMs).toISOString().slice(0, 19),
    hostname: summary.hostName,
  });
  const properties = { condition: summary.condition, inactive: String(summary.inactiveCount) };
  return [
    `  <testsuite${suite}>\n`,
    "    <properties>\n",
    ...Object.entries(properties).map(([name, value]) => `      <property${attributes({ name, value })}/>\n`),
    "    </properties>\n",
    ...cases.map(testCase),
    "    <system-out/>\n",
    "    <system-err/>\n",
    "  </testsuite>\n",
  ].join("");
}

function testCase(test: TestCase): string {
  const head = attributes({ classname: test.className, name: test.name, time: seconds(test.durationMs) });
  return test.content === ""
    ? `    <testcase${head}/>\n`
    : `    <testcase${head}>\n${test.content}    </testcase>\n`;
}

function finishedCase(result: Result, options: FormatOptions): TestCase {
  const text = [result.output, result.detail].filter((part) => part !== "").join("\n");
  const test = {
    className: `monitor.${result.check.kind}`,
    name: result.check.name,
    durationMs: result.durationMs,
  };
  if (!options.fails(result.condition)) {
    const content = text === "" ? "" : `      <system-out>${xmlText(text)}</system-out>\n`;
    return { ...test, verdict: "pass", content };
  }
  const verdict = FAILURE_ELEMENTS[result.condition];
  const found = { type: result.condition, message: result.output || result.condition, text };
  return { ...test, verdict, content: problem(verdict, found) };
}

/** A case without a result. */
function caseWithout(
  name: string,
  { type, verdict, reason }: {
    readonly type: string;
    readonly verdict: "failure" | "error";
    readonly reason: string;
  },
): TestCase {
  return {
    className: `monitor.${type}`,
    name,
    durationMs: 0,
    verdict,
    content: problem(verdict, { type, message: reason, text: reason }),
  };
}

interface Problem {
  readonly type: string;
  readonly message: string;
  readonly text: string;
}

function problem(element: "failure" | "error", found: Problem): string {
  const message = truncate(found.message, MESSAGE_LENGTH_MAX);
  return `      <${element}${attributes({ type: found.type, message })}>${
    xmlText(found.text)
  }</${element}>\n`;
}

function attributes(values: Readonly<Record<string, string>>): string {
  return Object.entries(values).map(([name, value]) => ` ${name}="${xmlAttribute(value)}"`).join("");
}

function seconds(durationMs: number): string {
  return (durationMs / 1000).toFixed(3);
}
