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

type Verdict = "pass" | "failure" | "error";

/** A result, or a check that has none: its `condition` is `unfinished`, or that of a run without checks. */
interface TestCase extends Pick<TestedResult, "check" | "output" | "detail" | "durationMs"> {
  readonly condition: Condition | "unfinished";
  readonly verdict: Verdict;
}

/**
 * JUnit XML, printed at the end of the run. It fails exactly the checks that the exit code fails: `warning` and
 * `critical` as failures, `unknown` and checks without a result as errors; the output of the others is in `system-out`.
 */
export const junitFormat: TestFormat = {
  summary: (summary, { fails }) => {
    const { records, unfinished, reason, condition } = summary;
    const cases = [
      ...records.map(({ result }) => ({ ...result, verdict: verdictOf(result.condition, fails) })),
      ...unfinished.map((name) => caseWithout(name, "unfinished", NO_RESULT)),
      ...reason !== null && fails(condition) ? [caseWithout(NO_CHECKS, condition, reason)] : [],
    ];
    return '<?xml version="1.0" encoding="UTF-8"?>\n' +
      `<testsuites>\n${testSuite(summary, cases)}</testsuites>\n`;
  },
};

function testSuite(summary: TestedRun, cases: readonly TestCase[]): string {
  const count = (verdict: Verdict) => String(cases.filter((test) => test.verdict === verdict).length);
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

/** A check without data is an error in JUnit. */
function verdictOf(condition: TestCase["condition"], fails: FormatOptions["fails"]): Verdict {
  if (condition === "unfinished") return "error";
  return !fails(condition) ? "pass" : condition === "unknown" ? "error" : "failure";
}

function caseWithout(name: string, condition: TestCase["condition"], output: string): TestCase {
  const verdict = verdictOf(condition, () => true);
  return { check: { kind: condition, name }, condition, output, detail: "", durationMs: 0, verdict };
}

function testCase(test: TestCase): string {
  const { check: { kind, name }, condition, output, detail, durationMs, verdict } = test;
  const head = attributes({ classname: `monitor.${kind}`, name, time: seconds(durationMs) });
  const text = xmlText([output, detail].filter((part) => part !== "").join("\n"));
  if (verdict === "pass" && text === "") return `    <testcase${head}/>\n`;
  const message = truncate(output || condition, MESSAGE_LENGTH_MAX);
  const content = verdict === "pass"
    ? `<system-out>${text}</system-out>`
    : `<${verdict}${attributes({ type: condition, message })}>${text}</${verdict}>`;
  return `    <testcase${head}>\n      ${content}\n    </testcase>\n`;
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
  return escapeXml(text, (sign) => sign === "\n" || sign === "\t" ? sign : reference(sign));
}

function escapeXml(text: string, escapeUnsafe: (character: string) => string): string {
  return replaceUnsafe(escapeUTF8(text.replace(NOT_ALLOWED, "\ufffd")), escapeUnsafe);
}

function reference(character: string): string {
  return `&#x${(character.codePointAt(0) ?? 0).toString(16)};`;
}
