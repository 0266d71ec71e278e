import assert from "node:assert/strict";
import { scriptKind } from "../../src/checks/script.ts";
import { parseRange } from "../../src/shared/parse_range.ts";
import type { Range } from "../../src/domain/range.ts";
import type { CheckResult } from "../../src/domain/result.ts";
import { concurrentSteps } from "../support/concurrent_tests.ts";
import { fixture, newMark, untilGone } from "../support/processes.ts";
import { observeProgram, type ScriptRun } from "../support/script_check.ts";

/** Far beyond every limit used here, far below the ten minutes that the fixtures sleep. */
const SOON_MS = 120_000;

interface Row extends ScriptRun {
  readonly name: string;
  readonly program: string;
  readonly expected: Partial<CheckResult>;
}

Deno.test("observeScript() maps the exit code to a condition", async (t) => {
  const rows = [
    { code: 0, condition: "ok", output: "this is 0" },
    { code: 1, condition: "warning", output: "this is 1" },
    { code: 2, condition: "critical", output: "this is 2" },
    { code: 3, condition: "unknown", output: "this is 3" },
    { code: 4, condition: "unknown", output: "exit code 4 (0 to 3 are conditions): this is 4" },
    { code: 127, condition: "unknown", output: "exit code 127 (0 to 3 are conditions): this is 127" },
    { code: 255, condition: "unknown", output: "exit code 255 (0 to 3 are conditions): this is 255" },
  ];
  for (const { code, condition, output } of rows) {
    await t.step(`${code}`, async () => {
      assert.deepEqual(await observeProgram(fixture("exit_code.sh"), { arguments: [`${code}`] }), {
        condition,
        output,
        detail: "",
        metrics: { exit_code: code },
        performanceData: "",
      });
    });
  }
});

Deno.test("observeScript() parses the output of a plugin", async (t) => {
  await runRows(t, [
    {
      name: "the guidelines' own example",
      program: "print_performance_data.sh",
      expected: {
        condition: "ok",
        output: "DISK OK - free space: / 3326 MB (56%);",
        detail: "/ 15272 MB (77%);\n/boot 68 MB (69%);\n/home 69357 MB (27%);\n/var/log 819 MB (84%);",
        performanceData: "/=2643MB;5948;5958;0;5968 /boot=68MB;88;93;0;98 " +
          "/home=69357MB;253404;253409;0;253414 /var/log=818MB;970;975;0;980",
        metrics: { exit_code: 0 },
      },
    },
    {
      name: "a table in the later lines",
      program: "print_table.sh",
      expected: {
        condition: "warning",
        output: "2 queues",
        detail: "| name | length |\n| mail | 3      |",
        performanceData: "",
      },
    },
    {
      name: "stderr serves when stdout is empty",
      program: "complain_on_stderr.sh",
      expected: {
        condition: "critical",
        output: "cannot reach the database | none",
        detail: "tried three times",
        performanceData: "",
      },
    },
    {
      name: "nothing printed",
      program: "/bin/true",
      expected: { condition: "ok", output: "", detail: "", performanceData: "" },
    },
    {
      name: "nothing printed by a failing script",
      program: "/bin/false",
      expected: { condition: "warning", output: "exit code 1, no output", detail: "", performanceData: "" },
    },
    {
      name: "nothing printed with another exit code",
      program: "/bin/sh",
      arguments: ["-c", "exit 7"],
      expected: { condition: "unknown", output: "exit code 7 (0 to 3 are conditions), no output" },
    },
    {
      name: "only performance data",
      program: "/bin/sh",
      arguments: ["-c", "echo '| load=7'; exit 2"],
      expected: { condition: "critical", output: "exit code 2, no output", performanceData: "load=7" },
    },
    {
      name: "invalid UTF-8",
      program: "invalid_utf8.sh",
      expected: { condition: "ok", output: "temperature 21 \uFFFDC" },
    },
  ]);
});

Deno.test("observeScript() compares exit code and output with the expected ones", async (t) => {
  const printing = (line: string, code = 0): Pick<Row, "program" | "arguments"> => ({
    program: "/bin/sh",
    arguments: ["-c", `echo "${line}"; exit ${code}`],
  });
  const mails = printing("120 mails in queue");
  const range = (text: string): Range => parseRange(text) ?? assert.fail(text);
  await runRows(t, [
    {
      name: "an exit code with another condition",
      ...printing("vanished", 24),
      exitCodeConditions: { 24: "ok", 1: "critical" },
      expected: { condition: "ok", output: "vanished", metrics: { exit_code: 24 } },
    },
    {
      name: "exit code 0 as a problem, without a word",
      program: "/bin/sh",
      arguments: ["-c", "exit 0"],
      exitCodeConditions: { 0: "critical" },
      expected: { condition: "critical", output: "exit code 0, no output" },
    },
    {
      name: "a text that is present",
      ...mails,
      outputPart: "mails",
      expected: { condition: "ok", output: "120 mails in queue" },
    },
    {
      name: "a missing text and a missing pattern",
      ...mails,
      outputPart: "jobs",
      outputPattern: "^\\d jobs",
      expected: {
        condition: "critical",
        output: 'output does not contain "jobs"; output does not match "^\\d jobs": 120 mails in queue',
      },
    },
    {
      name: "a mismatch that is a warning, and a more severe exit code",
      ...printing("broken", 2),
      outputPart: "fine",
      conditionOnMismatch: "warning",
      expected: { condition: "critical", output: 'output does not contain "fine": broken' },
    },
    {
      name: "a value within its ranges",
      ...mails,
      value: { pattern: "(\\d+) mails", warning: range("200") },
      expected: { condition: "ok", output: "120 mails in queue", metrics: { exit_code: 0, value: 120 } },
    },
    {
      name: "a value outside of one",
      ...mails,
      value: { pattern: "\\d+", warning: range("100"), critical: range("200") },
      expected: { condition: "warning", output: "value is 120, warning outside 100: 120 mails in queue" },
    },
    {
      name: "a value outside of both",
      ...mails,
      value: { pattern: "\\d+", warning: range("100"), critical: range("@110:130") },
      expected: {
        condition: "critical",
        output: "value is 120, critical within 110:130: 120 mails in queue",
      },
    },
    {
      name: "no value",
      ...mails,
      value: { pattern: "(\\d+) jobs" },
      expected: {
        condition: "unknown",
        output: 'no value: output does not match "(\\d+) jobs": 120 mails in queue',
      },
    },
    {
      name: "a value that is no number",
      ...mails,
      value: { pattern: "mails in (\\w+)" },
      expected: { condition: "unknown", output: 'the value "queue" is not a number: 120 mails in queue' },
    },
    {
      name: "performance data outside of its ranges",
      ...printing("fine|a=5s;4;9 b=U;;;0 c=3;;@3:4 d=1;2;3"),
      performanceDataRanges: true,
      expected: {
        condition: "critical",
        output: "a is 5s, warning outside 4; c is 3, critical within 3:4: fine",
      },
    },
    ...Object.entries({
      "fine": "no performance data",
      "fine|": "no performance data",
      "fine|a=5;abc;2": 'performance data cannot be read: "a=5;abc;2"',
      "fine|a=5,5;1;2 b=1": 'performance data cannot be read: "a=5,5;1;2"',
      "fine|b=1 a=5s;1s;2s c=nan;1": 'performance data cannot be read: "a=5s;1s;2s" and 1 more',
      "fine|a=;1;2": 'performance data cannot be read: "a=;1;2"',
      "fine|a=5;3:2": 'the range "3:2" of a is empty',
      "fine|a=U;1;2": "a is unknown",
    }).map(([text, reason]) => ({
      name: `performance data whose ranges are not known: ${text}`,
      ...printing(text),
      performanceDataRanges: true,
      expected: { condition: "unknown" as const, output: `${reason}: fine` },
    })),
    {
      name: "performance data in a text of which a part is dropped",
      program: "/bin/sh",
      arguments: ["-c", "echo 'fine|a=1;2;3'; yes | head -c 70000"],
      performanceDataRanges: true,
      expected: {
        condition: "unknown",
        output: "output is too long, so not all performance data is known: fine",
      },
    },
    {
      name: "performance data without limits",
      ...printing("fine|a=5s;4;9"),
      expected: { condition: "ok", output: "fine" },
    },
    {
      name: "a command that could not run",
      ...printing("no", 127),
      outputPart: "fine",
      expected: { condition: "unknown", output: "exit code 127 (0 to 3 are conditions): no" },
    },
  ]);
});

Deno.test("observeScript() notes dropped output", async () => {
  const seen = await observeProgram(fixture("print_megabytes.sh"), { arguments: ["2"] });
  assert.deepEqual([seen.condition, seen.output], ["critical", "first line"]);
  const lines = seen.detail.split("\n");
  assert.equal(lines.pop(), "(it printed more than 64 KiB; the rest is dropped)");
  assert.deepEqual([...new Set(lines)], ["123456789abcdef"], "no line is cut in two");
});

Deno.test("observeScript() survives hostile commands", async (t) => {
  const timeout = { timeoutMs: 700 };
  await runRows(t, [
    {
      name: "runs for ever",
      program: "forever.sh",
      ...timeout,
      expected: {
        condition: "unknown",
        output: "timeout after 0.7 s, terminated: running",
        metrics: {},
        performanceData: "",
        detail: "",
      },
    },
    {
      name: "runs for ever, and the check is critical",
      program: "forever.sh",
      ...timeout,
      conditionOnTimeout: "critical",
      expected: { condition: "critical", output: "timeout after 0.7 s, terminated: running" },
    },
    {
      name: "ignores SIGTERM",
      program: "ignore_sigterm.sh",
      ...timeout,
      expected: { condition: "unknown", output: "timeout after 0.7 s, terminated: ignoring" },
    },
    {
      name: "handles SIGTERM and exits with 0",
      program: "answer_sigterm.sh",
      ...timeout,
      expected: {
        condition: "unknown",
        output: "timeout after 0.7 s, terminated: waiting",
        detail: "goodbye",
      },
    },
    {
      name: "closes stdout and sleeps",
      program: "close_stdout_and_sleep.sh",
      ...timeout,
      expected: { condition: "unknown", output: "timeout after 0.7 s, terminated: closing" },
    },
    {
      name: "floods stdout",
      program: "flood_stdout.sh",
      ...timeout,
      expected: { condition: "unknown", output: "timeout after 0.7 s, terminated: flood" },
    },
    {
      name: "leaves a grandchild that keeps the pipes open",
      program: "fork_grandchild.sh",
      expected: {
        condition: "warning",
        output: "left a grandchild",
        detail: "(terminated the processes that it left behind)",
      },
    },
    {
      name: "leaves a grandchild that closed the pipes",
      program: "leave_silent_grandchild.sh",
      expected: {
        condition: "ok",
        output: "left a silent grandchild",
        detail: "(terminated the processes that it left behind)",
      },
    },
    {
      name: "is killed by a signal",
      program: "end_by_signal.sh",
      arguments: ["SEGV"],
      expected: { condition: "unknown", output: "terminated by SIGSEGV: this is SEGV", metrics: {} },
    },
    {
      name: "does not exist",
      program: "/no/such/program",
      expected: {
        condition: "unknown",
        output: 'cannot start "/no/such/program": file does not exist',
        detail: "",
        metrics: {},
        performanceData: "",
      },
    },
    {
      name: "is not executable",
      program: "not_executable.sh",
      expected: {
        condition: "unknown",
        output: `cannot start "${fixture("not_executable.sh")}": file is not executable`,
      },
    },
    {
      name: "names a bad interpreter",
      program: "bad_shebang.sh",
      expected: {
        condition: "unknown",
        output: `cannot start "${
          fixture("bad_shebang.sh")
        }": its interpreter "/no/such/interpreter" does not exist`,
      },
    },
    {
      name: "is a directory",
      program: "/usr",
      expected: { condition: "unknown", output: 'cannot start "/usr": path is a directory, not a program' },
    },
  ]);
});

Deno.test({
  name: "observeScript() names a real-time signal by its number",
  sanitizeResources: false, // as in processes_test.ts
  fn: async () => {
    const seen = await observeProgram(fixture("end_by_signal.sh"), { arguments: ["40"] });
    assert.deepEqual([seen.condition, seen.output], ["unknown", "terminated by signal 40: this is 40"]);
  },
});

Deno.test("observeScript() sets the configured environment, the config's directory and an empty stdin", async () => {
  const ownEnvironment = {
    PATH: "/usr/bin:/bin",
    HOME: "/home/monitor",
    LANG: "C.UTF-8",
    TZ: "UTC",
    SECRET: "hidden",
    MONITOR_CHECK: "not this",
    LD_PRELOAD: "/no/such/library",
  };
  const environment = await observeProgram("/usr/bin/env", {
    name: "Disk of the server",
    ownEnvironment,
    environment: { LANG: "de_DE.UTF-8", EXTRA: "a b", MONITOR_CHECK: "nor this" },
  });
  assert.deepEqual([environment.output, ...environment.detail.split("\n")].sort(), [
    "EXTRA=a b",
    "HOME=/home/monitor",
    "LANG=de_DE.UTF-8",
    "MONITOR_CHECK=Disk of the server",
    "PATH=/usr/bin:/bin",
    "TZ=UTC",
  ]);
  assert.equal((await observeProgram("/bin/pwd", { directory: "/usr/lib" })).output, "/usr/lib");
  assert.equal((await observeProgram(fixture("count_stdin.sh"))).output.trim(), "0");
});

Deno.test("scriptKind counts as a process", () => {
  assert.equal(scriptKind.limit, "process");
});

/** Observes each row, and sees to it that it was soon over and nothing lives on. */
async function runRows(t: Deno.TestContext, rows: readonly Row[]): Promise<void> {
  await using steps = concurrentSteps(t);
  for (const { name, program, expected, ...run } of rows) {
    steps.add(name, async () => {
      const mark = newMark();
      const startMs = performance.now();
      const path = program.startsWith("/") ? program : fixture(program);
      const seen = await observeProgram(path, { ...run, name: mark });
      assert.ok(performance.now() - startMs < SOON_MS);
      await untilGone(mark);
      const members = Object.keys(expected) as (keyof CheckResult)[];
      assert.deepEqual(
        Object.fromEntries(members.map((member) => [member, seen[member]])),
        expected,
        seen.detail.slice(0, 200),
      );
    });
  }
}
