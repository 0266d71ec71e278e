import assert from "node:assert/strict";
import { checkOf, contextOf } from "../../testing/builders.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import type { ScriptParameters } from "../../src/domain/generated/config.ts";
import { observeScript } from "../../src/checks/script.ts";
import type { CheckResult } from "../../src/domain/check.ts";
import { testRows } from "../support/rows.ts";

/** Of Playwright 1.65.1: one test passed, one failed, one was skipped. */
const PLAYWRIGHT = Deno.readTextFileSync(new URL("testdata/playwright.xml", import.meta.url));

interface Printed extends Partial<ScriptParameters> {
  readonly stdout?: string;
  readonly stderr?: string;
  readonly code?: number;
}

/** The result of a command that printed this, without a process. */
function observePrinted(
  { stdout = "", stderr = "", code = 0, ...parameters }: Printed,
): Promise<CheckResult> {
  const defaults = {
    arguments: [],
    environment: {},
    conditionOnTimeout: "unknown",
    outputFormat: "junit",
  } as const;
  const check = checkOf("script", { path: "runner", ...defaults, ...parameters });
  return observeScript(
    check,
    contextOf({
      system: {
        clock: createRealClock(),
        environment: () => undefined,
        processes: {
          run: (_, options) => {
            const max = options?.aborted ? 0 : 1024 * 1024;
            return Promise.resolve({
              ended: "exited",
              code,
              stdout: { text: stdout.slice(0, max), truncated: stdout.length > max },
              stderr: { text: stderr, truncated: false },
              leftovers: false,
            });
          },
        },
      },
    }),
  );
}

const test = (name: string, content = ""): string =>
  `<testcase name="${name}" time="0.5">${content}</testcase>`;
const suite = (content: string, attributes = ""): string =>
  `<testsuites><testsuite ${attributes}>${content}</testsuite></testsuites>`;

Deno.test("script counts the failed tests of a JUnit report in place of the exit code", async (t) => {
  const rows: Readonly<Record<string, readonly [Printed, string]>> = {
    "Playwright, with a failed test": [
      { stdout: PLAYWRIGHT, code: 1 },
      "critical: 1 of 3 tests failed: a.spec.js: shop \u203a pays: " +
      "expect(received).toBe(expected) // Object.is equality",
    ],
    "all passed": [{ stdout: suite(test("a") + test("b")) }, "ok: 2 tests passed"],
    "one suite without others": [{ stdout: `<testsuite>${test("a")}</testsuite>` }, "ok: 1 test passed"],
    "some were skipped": [
      { stdout: suite(test("a") + test("b", "<skipped/>")) },
      "ok: 1 test passed, 1 skipped",
    ],
    "an error of pytest": [
      { stdout: suite(test("a", '<error message="no database">trace</error>')), code: 1 },
      "critical: 1 of 1 test failed: a: no database",
    ],
    "a failure without a message": [
      { stdout: suite(test("a", "<failure>expected 200\nbut got 500</failure>")), code: 1 },
      "critical: 1 of 1 test failed: a: expected 200",
    ],
    "an empty failure, and an exit code of 0": [
      { stdout: suite(test("a", "<failure/>")) },
      "critical: 1 of 1 test failed: a",
    ],
    "as many failures as the exit code": [
      { stdout: suite(test("a", "<failure/>").repeat(5)), code: 5 },
      "critical: 5 of 5 tests failed: a; a; a; and 2 more",
    ],
    "a flaky test passed in the end": [
      { stdout: suite(test("a", '<flakyFailure message="x"/>')) },
      "ok: 1 test passed",
    ],
    "in nested suites": [
      { stdout: suite(`<testsuite>${test("a", "<failure/>")}</testsuite>`) },
      "critical: 1 of 1 test failed: a",
    ],
    "as a warning": [
      { stdout: suite(test("a", "<failure/>")), code: 1, conditionOnMismatch: "warning" },
      "warning: 1 of 1 test failed: a",
    ],
    "failures that are counted, but not named": [
      { stdout: suite(test("a"), 'failures="1" errors="1"') },
      "critical: the report counts 2 failed tests without a name",
    ],
    "an error outside of the tests": [
      { stdout: suite(`${test("a")}<error message="setup"/>`) },
      "critical: the report counts 1 failed test without a name",
    ],
    "the same, which is counted as well": [
      { stdout: suite(`${test("a")}<error message="setup"/>`, 'errors="1"') },
      "critical: the report counts 1 failed test without a name",
    ],
    "those that the root counts": [
      { stdout: `<testsuites failures="1">${test("a")}</testsuites>` },
      "critical: the report counts 1 failed test without a name",
    ],
    "lines of a package manager around it": [
      { stdout: `\n> shop@1.0.0 test\n\n<?xml version="1.0"?>\n${suite(test("a"))}\ndone\n` },
      "ok: 1 test passed",
    ],
    "colors and other control characters": [
      { stdout: suite(test("a", "<failure>\u001b[31mred\u001b[0m\u0000</failure>")) },
      "critical: 1 of 1 test failed: a: red\\x00",
    ],
    "an exit code that no test explains": [
      { stdout: suite(test("a")), code: 1 },
      "unknown: exit code 1: 1 test passed",
    ],
    "an exit code with a condition": [
      { stdout: suite(test("a")), code: 1, exitCodeConditions: { "1": "warning" } },
      "warning: exit code 1: 1 test passed",
    ],
  };
  await testRows(t, rows, async ([printed, expected]) => {
    const { condition, output } = await observePrinted(printed);
    assert.equal(`${condition}: ${output}`, expected);
  });
});

Deno.test("script is never ok without a whole JUnit report of a test that ran", async (t) => {
  const passed = suite(test("a"));
  const huge = `<testsuites>${test("a").repeat(30_000)}</testsuites>`;
  const rows: Readonly<Record<string, readonly [Printed, string | RegExp]>> = {
    "nothing printed": [{}, "unknown: no JUnit report"],
    "only an error": [
      { stderr: "\nError: No tests found\nmore", code: 1 },
      "unknown: exit code 1, no JUnit report: Error: No tests found",
    ],
    "a plugin's output": [{ stdout: "OK - all well" }, "unknown: no JUnit report"],
    "no test": [
      { stdout: '<testsuites tests="0"/>', code: 1 },
      "unknown: exit code 1, no test ran, no output",
    ],
    "all were skipped": [
      { stdout: suite(test("a", "<skipped/>")) },
      "unknown: no test ran: 0 tests passed, 1 skipped",
    ],
    "the end is missing": [
      { stdout: passed.slice(0, -20) },
      "unknown: cannot read the report: line 1: Unclosed root tag: 1 test passed",
    ],
    "the end is missing after a failed test": [
      { stdout: '<testsuite><testcase name="a"><failure>' },
      /^critical: cannot read the report: .*: 1 of 1 test failed: a$/,
    ],
    "two reports": [
      { stdout: passed + passed },
      "unknown: cannot read the report: it is followed by another one: 1 test passed",
    ],
    "another XML": [
      { stdout: '<?xml version="1.0"?><html><testcase name="a"/></html>' },
      "unknown: cannot read the report: the root element is <html>, expected <testsuites>",
    ],
    "entities that grow": [
      {
        stdout: '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>' +
          suite(test("&b;")),
      },
      /^unknown: cannot read the report: .*Invalid character entity/,
    ],
    "an external entity": [
      {
        stdout: '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]>' +
          suite(test("a", "<failure>&a;</failure>")),
      },
      /^critical: cannot read the report: .*Invalid character entity.*: 1 of 1 test failed: a$/,
    ],
    "elements without end": [{ stdout: "<testsuite>".repeat(20_000) }, /^unknown: cannot read the report: /],
    "more than is read": [{ stdout: huge }, /^unknown: the report is too long: \d+ tests passed$/],
  };
  await testRows(t, rows, async ([printed, expected]) => {
    const { condition, output } = await observePrinted(printed);
    if (typeof expected === "string") assert.equal(`${condition}: ${output}`, expected);
    else assert.match(`${condition}: ${output}`, expected);
  });
});

Deno.test("script has the durations of tests as performance data, and details of the failed ones", async () => {
  const { detail, metrics, performanceData } = await observePrinted({ stdout: PLAYWRIGHT, code: 1 });
  assert.deepEqual(metrics, { exit_code: 1, tests: 3, failed: 1, skipped: 1 });
  assert.match(
    performanceData,
    /^'a\.spec\.js: shop \u203a logs in'=[\d.]+s 'a\.spec\.js: shop \u203a pays'=[\d.]+s$/,
  );
  assert.match(detail, /^a\.spec\.js: shop \u203a pays: expect\(received\)/);
  assert.match(detail, /Expected: "200"/);
  const hostile = suite(
    '<testcase name="it\'s = 1" time="1e99"/><testcase name="b" time="-1"/><testcase name="c" time="x"/>',
  );
  const others = await observePrinted({ stdout: hostile });
  assert.equal(others.performanceData, `'it''s   1'=${BigInt(1e99)}s`);
  const many = await observePrinted({
    stdout: suite(test("a", `<failure>${"x".repeat(5000)}</failure>`).repeat(200)),
  });
  assert.ok(many.detail.length < 12_000 && many.performanceData.split(" ").length === 100);
});
