import { createRealClock } from "../../testing/real_clock.ts";
import { checkOf, contextOf, tempDirectory } from "../../testing/builders.ts";
import { createProcesses } from "../../src/system/process/processes.ts";
import type { CheckResult } from "../../src/domain/check.ts";
import type { ScriptParameters } from "../../src/domain/generated/config.ts";
import assert from "node:assert/strict";
import { observeScript, scriptKind } from "../../src/checks/script.ts";
import { parseRange } from "../../src/shared/decimal.ts";
import { concurrentSteps } from "../support/concurrent_tests.ts";
import { until } from "../life/in_time.ts";
import { fixture, newMark, untilGone } from "../support/processes.ts";
import { fieldsOf, testRows, testTable } from "../support/rows.ts";

interface ScriptRun extends Partial<ScriptParameters> {
  readonly name?: string;
  readonly timeoutMs?: number;
  readonly directory?: string;
  readonly ownEnvironment?: Readonly<Record<string, string>>;
}

/** Runs a command as a `script` check. Its timeout is over once there is the file that `BEGUN` in its environment names. */
function observeProgram(path: string, run: ScriptRun = {}): Promise<CheckResult> {
  const { name = "script", timeoutMs = 120_000, directory = "/", ownEnvironment, ...parameters } = run;
  const environment: Readonly<Record<string, string>> = ownEnvironment ?? { PATH: "/usr/bin:/bin" };
  const defaults = { arguments: [], environment: {}, conditionOnTimeout: "unknown" } as const;
  const check = checkOf("script", { path, ...defaults, ...parameters }, { name, timeoutMs });
  const real = createRealClock();
  const begun = parameters.environment?.["BEGUN"];
  const clock = begun === undefined ? real : {
    ...real,
    after: (delayMs: number, callback: () => void) =>
      delayMs === timeoutMs ? afterCreated(begun, callback) : real.after(delayMs, callback),
  };
  const processes = createProcesses(clock, { terminationGraceMs: 120_000, killWaitMs: 120_000 });
  const context = contextOf({
    system: { processes, environment: (variable) => environment[variable] },
    directory,
  });
  return observeScript(check, context);
}

/** Calls back once there is a file; returns a function that prevents it. */
function afterCreated(path: string, callback: () => void): () => void {
  let isCancelled = false;
  const isCreated = () => isCancelled || Deno.stat(path).then(() => true, () => false);
  void until(`file ${path}`, isCreated).then(() => isCancelled || callback());
  return () => void (isCancelled = true);
}

/** A command and the expected result. */
type Row = readonly [program: string, ScriptRun, expected: string, detail?: string, performanceData?: string];

Deno.test("observeScript() maps the exit code to a condition", async (t) => {
  const rows = {
    0: "ok: this is 0",
    1: "warning: this is 1",
    2: "critical: this is 2",
    3: "unknown: this is 3",
    255: "unknown: exit code 255 (0 to 3 are conditions): this is 255",
  };
  await testRows(t, rows, async (expected, code) => {
    const seen = await observeProgram(fixture("exit_code.sh"), { arguments: [code] });
    assert.equal(`${seen.condition}: ${seen.output}`, expected);
    assert.deepEqual([seen.detail, seen.metrics], ["", { exit_code: Number(code) }]);
  });
});

Deno.test("observeScript() says whether a command that ran too long has ended", async () => {
  const parameters = { path: "/x", arguments: [], environment: {}, conditionOnTimeout: "critical" } as const;
  const silent = { text: "", truncated: false };
  for (const [survives, fate] of [[true, "cannot be terminated"], [false, "terminated"]] as const) {
    const end = { ended: "timed_out", stdout: silent, stderr: silent, survives } as const;
    const system = { processes: { run: () => Promise.resolve(end) }, environment: () => undefined };
    const { output } = await observeScript(checkOf("script", parameters), contextOf({ system }));
    assert.match(output, new RegExp(`, ${fate}$`));
  }
});

Deno.test("observeScript() parses the output of a plugin", async (t) => {
  const shell = (script: string): ScriptRun => ({ arguments: ["-c", script] });
  await runRows(t, {
    "the guidelines' own example": [
      "print_performance_data.sh",
      {},
      "ok: DISK OK - free space: / 3326 MB (56%);",
      "/ 15272 MB (77%);\n/boot 68 MB (69%);\n/home 69357 MB (27%);\n/var/log 819 MB (84%);",
      "/=2643MB;5948;5958;0;5968 /boot=68MB;88;93;0;98 " +
      "/home=69357MB;253404;253409;0;253414 /var/log=818MB;970;975;0;980",
    ],
    "stderr serves when stdout is empty": [
      "complain_on_stderr.sh",
      {},
      "critical: cannot reach the database | none",
      "tried three times",
    ],
    "nothing printed": ["/bin/true", {}, "ok: "],
    "nothing printed by a failing script": ["/bin/false", {}, "warning: exit code 1, no output"],
    "only performance data": [
      "/bin/sh",
      shell("echo '| load=7'; exit 2"),
      "critical: exit code 2, no output",
      "",
      "load=7",
    ],
    "invalid UTF-8": ["invalid_utf8.sh", {}, "ok: temperature 21 \uFFFDC"],
  });
});

Deno.test("observeScript() compares exit code and output with the expected ones", async (t) => {
  const table = `
    an exit code with another condition | 24 vanished | exitCodeConditions.24=ok exitCodeConditions.1=critical | \\
      ok: vanished
    exit code 0 as a problem | 0 | exitCodeConditions.0=critical | critical: exit code 0, no output
    a text that is present   | 0 120 mails | outputPart=mails | ok: 120 mails
    a missing text and a missing pattern | 0 120 mails | outputPart=jobs outputPattern="^\\\\d jobs" | \\
      critical: output does not contain "jobs"; output does not match "^\\d jobs": 120 mails
    a mismatch that is a warning, and a more severe exit code | 2 broken | \\
      outputPart=fine conditionOnMismatch=warning | critical: output does not contain "fine": broken
    a value within its ranges | 0 120 mails | value.pattern="(\\\\d+) mails" value.warning=200 | ok: 120 mails
    a value outside of one    | 0 120 mails | value.pattern=\\d+ value.warning=100 value.critical=200 | \\
      warning: value is 120, warning outside 100: 120 mails
    a value outside of both   | 0 120 mails | value.pattern=\\d+ value.warning=100 value.critical=@110:130 | \\
      critical: value is 120, critical within 110:130: 120 mails
    no value                  | 0 120 mails | value.pattern="(\\\\d+) jobs" | \\
      unknown: no value: output does not match "(\\d+) jobs": 120 mails
    no value of a failed command | 2 no mails | value.pattern="(\\\\d+) jobs" | critical: no mails
    a value that is no number | 0 120 mails | value.pattern="0 (\\\\w+)" | unknown: the value "mails" is not a number: 120 mails
    performance data outside  | 0 fine|a=5s;4;9 b=U;;;0 c=3;;@3:4 d=1;2;3 | performanceDataRanges=true | \\
      critical: a is 5s, warning outside 4; c is 3, critical within 3:4: fine
    above what the runtime's numbers can tell apart | \\
      0 fine|a=9007199254740993;9007199254740992 b=9007199254740992;9007199254740992 | performanceDataRanges=true | \\
      warning: a is 9007199254740993, warning outside 9007199254740992: fine
    performance data without ranges | 0 fine|a=5s;4;9 | | ok: fine
    a command that could not run | 127 no | outputPart=fine | unknown: exit code 127 (0 to 3 are conditions): no`;
  await testTable(t, table, async (name, end, parameters, expected) => {
    const [code = "", line = ""] = end.split(/ (.*)/);
    const { value, ...run } = fieldsOf<Omit<ScriptRun, "value"> & { value?: Record<string, string> }>(
      parameters,
    );
    const given = Object.entries(value ?? {}).map(([name, text]) => [
      name,
      name === "pattern" ? text : parseRange(`${text}`) ?? assert.fail(text),
    ]);
    const ranges = value === undefined ? {} : { value: Object.fromEntries(given) };
    const script = ["-c", `${line === "" ? "" : `echo "${line}"; `}exit ${code}`];
    const seen = await observeProgram("/bin/sh", { ...run, ...ranges, arguments: script });
    assert.equal(`${seen.condition}: ${seen.output}`, expected);
    const measured = /value (?:is|within)/.test(`${name} ${expected}`) ? { value: 120 } : {};
    assert.deepEqual(seen.metrics, { exit_code: Number(code), ...measured });
  });
});

Deno.test("observeScript() is unknown if the ranges of performance data are not known", async (t) => {
  const rows = {
    "fine": "no performance data",
    "fine|a=5;abc;2": 'performance data cannot be read: "a=5;abc;2"',
    "fine|b=1 a=5s;1s;2s c=nan;1": 'performance data cannot be read: "a=5s;1s;2s" and 1 more',
    "fine|a=5;3:2": 'the range "3:2" of a is empty',
    "fine|a=U;1;2": "a is unknown",
    "fine|a=1;2;3'; yes | head -c 70000; echo '": "output is too long, so not all performance data is known",
  };
  await testRows(t, rows, async (reason, text) => {
    const run = { arguments: ["-c", `echo '${text}'`], performanceDataRanges: true };
    const { condition, output } = await observeProgram("/bin/sh", run);
    assert.equal(`${condition}: ${output}`, `unknown: ${reason}: fine`);
  });
});

Deno.test("observeScript() is unknown if a text may be behind the output that it can search", async () => {
  const script = "echo fine; yes | head -c 70000";
  for (const expected of [{ outputPart: "absent" }, { outputPattern: "a.sent" }]) {
    const run = { arguments: ["-c", script], conditionOnMismatch: "warning" as const, ...expected };
    const { condition, output } = await observeProgram("/bin/sh", run);
    const [text = ""] = Object.values(expected);
    assert.equal(
      `${condition}: ${output.replace(/\d+ characters/, "N characters")}`,
      `unknown: cannot search all of the output for "${text}": it has more than N characters: fine`,
    );
  }
});

Deno.test("observeScript() notes dropped output", async () => {
  const seen = await observeProgram(fixture("print_megabytes.sh"), { arguments: ["2"] });
  assert.deepEqual([seen.condition, seen.output], ["critical", "first line"]);
  const lines = seen.detail.split("\n");
  assert.equal(lines.pop(), "(it printed more than 64 KiB; the rest is dropped)");
  assert.deepEqual([...new Set(lines)], ["123456789abcdef"], "no line is cut in two");
});

Deno.test("observeScript() survives hostile commands", async (t) => {
  await using temporary = await tempDirectory();
  const left = "(terminated the processes that it left behind)";
  const timeout = "timeout after 0.7 s, terminated:";
  const missing = 'cannot start "/no/such/program": file does not exist';
  await runRows(t, {
    "runs for ever, and the check is critical": [
      "/bin/sh",
      {
        timeoutMs: 700,
        conditionOnTimeout: "critical",
        arguments: ["-c", "echo 'running | cut=1'; : > $BEGUN; sleep 600"],
        environment: { BEGUN: `${temporary.path}/runs` },
      },
      `critical: ${timeout} running`,
    ],
    "handles SIGTERM": [
      "answer_sigterm.sh",
      { timeoutMs: 700, environment: { BEGUN: `${temporary.path}/waits` } },
      `unknown: ${timeout} waiting`,
      "goodbye",
    ],
    "leaves a grandchild": ["fork_grandchild.sh", {}, "warning: left a grandchild", left],
    "does not exist": ["/no/such/program", {}, `unknown: ${missing}`],
  });
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

Deno.test("scriptKind counts as a process", () => assert.equal(scriptKind.limit, "process"));

/** Observes each row, after which nothing lives on. */
async function runRows(t: Deno.TestContext, rows: Readonly<Record<string, Row>>): Promise<void> {
  await using steps = concurrentSteps(t);
  for (const [name, [program, run, expected, detail = "", performanceData = ""]] of Object.entries(rows)) {
    steps.add(name, async () => {
      const mark = newMark();
      const path = program.startsWith("/") ? program : fixture(program);
      const seen = await observeProgram(path, { ...run, name: mark });
      await untilGone(mark);
      assert.equal(`${seen.condition}: ${seen.output}`, expected);
      assert.deepEqual([seen.detail, seen.performanceData], [detail, performanceData]);
    });
  }
}
