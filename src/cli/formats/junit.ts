import { escapeUTF8 } from "entities/escape";
import type { Condition } from "../../domain/condition.ts";
import {
  type FormatOptions,
  NO_CHECKS,
  NO_RESULT,
  type TestedResult,
  type TestedRun,
  type TestFormat,
} from "./format.ts";
import { replaceUnsafe, truncate } from "../../shared/text.ts";

/*
 * The file conforms to Jenkins' schemas (junit-4.xsd and junit-10.xsd of its xUnit plugin), and contains everything
 * that Windy Road's JUnit.xsd requires, including host name and empty suite output. It deviates from the last one in
 * a single point: the output of a passing check is in its `testcase`, where CI systems show it, and JUnit.xsd has no
 * such element.
 */

/** Readers show the message on one line or in a column; the text of the element has all of it. */
const MESSAGE_LENGTH_MAX = 1000;

interface TestCase extends Pick<TestedResult["check"], "name"> {
  readonly className: string;
  readonly durationMs: number;
  readonly verdict: "pass" | "failure" | "error";
  readonly content: string;
}

/**
 * JUnit XML, printed at the end of the run. It fails exactly the checks that the exit code fails: `warning` and
 * `critical` as failures, `unknown` and checks without a result as errors; the output of the others is in `system-out`.
 */
export const junitFormat: TestFormat = {
  summary: (summary, options) => {
    const cases = [
      ...summary.records.map(({ result }) => finishedCase(result, options)),
      ...summary.unfinished.map((name) => caseWithout(name, "unfinished", NO_RESULT)),
      ...(summary.reason !== null && options.fails(summary.condition)
        ? [caseWithout(NO_CHECKS, summary.condition, summary.reason)]
        : []),
    ];
    return '<?xml version="1.0" encoding="UTF-8"?>\n' +
      `<testsuites>\n${testSuite(summary, cases)}</testsuites>\n`;
  },
};

function testSuite(summary: TestedRun, cases: readonly TestCase[]): string {
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

function finishedCase(
  { check, condition, output, detail, durationMs }: TestedResult,
  options: FormatOptions,
): TestCase {
  const text = [output, detail].filter((part) => part !== "").join("\n");
  const test = { className: `monitor.${check.kind}`, name: check.name, durationMs };
  if (options.fails(condition)) return { ...test, ...failed(condition, output || condition, text) };
  const content = text === "" ? "" : `      <system-out>${xmlText(text)}</system-out>\n`;
  return { ...test, verdict: "pass", content };
}

function caseWithout(name: string, type: Condition | "unfinished", reason: string): TestCase {
  return { className: `monitor.${type}`, name, durationMs: 0, ...failed(type, reason, reason) };
}

/** A check without data is an error in JUnit. */
function failed(
  type: Condition | "unfinished",
  reason: string,
  text: string,
): Pick<TestCase, "verdict" | "content"> {
  const verdict = type === "unknown" || type === "unfinished" ? "error" : "failure";
  const message = truncate(reason, MESSAGE_LENGTH_MAX);
  const content = `      <${verdict}${attributes({ type, message })}>${xmlText(text)}</${verdict}>\n`;
  return { verdict, content };
}

function attributes(values: Readonly<Record<string, string>>): string {
  // Line breaks and tabs are written as references, since a reader would turn them into spaces.
  return Object.entries(values).map(([name, value]) => ` ${name}="${escapeXml(value, reference)}"`).join("");
}

function seconds(durationMs: number): string {
  return (durationMs / 1000).toFixed(3);
}

/**
 * Characters that XML 1.0 does not allow, not even as a reference (https://www.w3.org/TR/xml/#charsets): most control
 * characters, lone surrogates, U+FFFE and U+FFFF.
 */
const NOT_ALLOWED = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

/** Returns any text as the content of an XML element. Characters that XML does not allow become U+FFFD. */
function xmlText(text: string): string {
  return escapeXml(
    text,
    (character) => character === "\n" || character === "\t" ? character : reference(character),
  );
}

function escapeXml(text: string, escapeUnsafe: (character: string) => string): string {
  return replaceUnsafe(escapeUTF8(text.replace(NOT_ALLOWED, "\ufffd")), escapeUnsafe);
}

function reference(character: string): string {
  return `&#x${(character.codePointAt(0) ?? 0).toString(16)};`;
}
