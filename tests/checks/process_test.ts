import assert from "node:assert/strict";
import type { ProcessParameters } from "../../src/domain/check.ts";
import type { ObserveContext } from "../../src/domain/check_kind.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { CheckResult } from "../../src/domain/result.ts";
import { processKind } from "../../src/checks/process.ts";
import { startChild, tool } from "../../testing/tools.ts";
import { testCheck } from "../support/checks.ts";
import { observeCheck } from "../support/observe_check.ts";

const LIMITS = { count: { criticalBelow: 1 }, age: {}, memory: {} } as const;

/** Observes as if `ps` had printed some lines. */
function observePrinted(
  lines: readonly string[],
  parameters: Partial<ProcessParameters>,
  system: Partial<ObserveContext["system"]> = {},
): Promise<CheckResult> {
  const stdout = { text: lines.join("\n"), truncated: false };
  const end = { ended: "exited", code: 0, stdout, stderr: { text: "", truncated: false }, leftovers: false };
  const processes = { run: () => Promise.resolve(end as Extract<typeof end, { ended: "exited" }> as never) };
  return observeCheck({ kind: "process", parameters: { ...LIMITS, ...parameters } }, {
    system: { processes, ...system },
  });
}

const LINES = [
  "    1  2-03:04:05  10240 Ss   init",
  "  100       00:09   2048 S    nginx",
  "  101    01:00:00   4096 S    nginx",
  "  102       00:00      0 Z    nginx <defunct>",
  "  103       10:00    512 S    a very long pro",
  "  104       10:00    512 S    /usr/libexec/agent",
  "garbage",
  "  105       10:00    512 S     leading spaces",
  "  106 441077234-00:18:40    512 S    just_started",
];

Deno.test("process counts the matching processes, and compares number, age and memory with thresholds", async (t) => {
  const rows: Readonly<
    Record<string, readonly [Partial<ProcessParameters>, Condition, output: string]>
  > = {
    "a name, without its zombie": [
      { name: "nginx" },
      "ok",
      "count 2; age min 9 s; age max 1 h; memory 6.29 MB",
    ],
    "a name that nothing has": [{ name: "ngin" }, "critical", "count 0, critical below 1"],
    "too many": [
      { name: "nginx", count: { warningAbove: 1 } },
      "warning",
      "count 2, warning above 1; age min 9 s; age max 1 h; memory 6.29 MB",
    ],
    "a young one": [
      { name: "nginx", age: { warningBelowMs: 60_000 } },
      "warning",
      "count 2; age min 9 s, warning below 1 min; age max 1 h; memory 6.29 MB",
    ],
    "an old one": [
      { name: "nginx", age: { criticalAboveMs: 600_000 } },
      "critical",
      "count 2; age min 9 s; age max 1 h, critical above 10 min; memory 6.29 MB",
    ],
    "much memory": [
      { name: "nginx", memory: { warningAboveBytes: 6e6 } },
      "warning",
      "count 2; age min 9 s; age max 1 h; memory 6.29 MB, warning above 6 MB",
    ],
    "a name longer than the kernel keeps": [
      { name: "a very long process name" },
      "ok",
      "count 1; age min 10 min; age max 10 min; memory 524 kB",
    ],
    "one whose age is below 0": [
      { name: "just_started", age: { criticalAboveMs: 600_000 } },
      "ok",
      "count 1; age min 0 s; age max 0 s; memory 524 kB",
    ],
    "a name with its directory, as macOS prints it": [
      { name: "agent" },
      "ok",
      "count 1; age min 10 min; age max 10 min; memory 524 kB",
    ],
    "a pattern": [
      { pattern: "^(init|nginx)$" },
      "ok",
      "count 3; age min 9 s; age max 2 d 3 h; memory 16.8 MB",
    ],
  };
  for (const [name, [parameters, condition, output]] of Object.entries(rows)) {
    await t.step(name, async () => {
      const result = await observePrinted(LINES, parameters);
      assert.deepEqual([result.condition, result.output], [condition, output]);
    });
  }
});

Deno.test("process reads a pid file", async (t) => {
  const directory = await Deno.makeTempDir();
  const pidFile = `${directory}/own.pid`;
  const rows: Readonly<Record<string, readonly [text: string | null, Condition, output: RegExp]>> = {
    "of a process that runs": ["101\n", "ok", /^count 1; age min 1 h/],
    "of a process that has gone": ["4711\n", "critical", /^count 0, critical below 1$/],
    "that does not exist": [null, "critical", /^count 0, critical below 1$/],
    "that is empty": ["", "unknown", /^cannot read pid_file ".*": its first line is not a process id$/],
    "with other text": ["pid 101", "unknown", /: its first line is not a process id$/],
    "that is huge": ["1".repeat(5000), "unknown", /: it has 5000 bytes, expected at most 4096$/],
  };
  try {
    for (const [name, [text, condition, output]] of Object.entries(rows)) {
      await t.step(name, async () => {
        await (text === null ? Deno.remove(pidFile) : Deno.writeTextFile(pidFile, text));
        const result = await observePrinted(LINES, { pidFile });
        assert.equal(result.condition, condition);
        assert.match(result.output, output);
      });
    }
    await t.step("along with the name of another process", async () => {
      await Deno.writeTextFile(pidFile, "1");
      assert.equal((await observePrinted(LINES, { pidFile, name: "nginx" })).condition, "critical");
    });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("process finds processes of this machine, but not its own", async () => {
  const mark = crypto.randomUUID();
  const child = startChild(tool("sh"), ["-c", "read line", mark], {
    stdin: "piped",
    stdout: "null",
    stderr: "null",
  });
  try {
    const parameters = { ...LIMITS, pattern: mark, count: { warningAbove: 1, criticalBelow: 1 } };
    const { condition, metrics, output } = await observeCheck({ kind: "process", parameters });
    assert.deepEqual([condition, metrics["count"]], ["ok", 1], output);
    assert.ok((metrics["memory_bytes"] ?? 0) > 0);
    assert.ok((metrics["age_min_seconds"] ?? -1) >= 0);
    assert.equal(metrics["count_critical_below"], 1);
  } finally {
    await child.stdin.close();
    await child.status;
  }
});

Deno.test("process is unknown with the reason if it cannot list processes", async (t) => {
  const named = { ...LIMITS, name: "init" };
  const real = (command: string) => observeCheck({ kind: "process", parameters: { ...named, command } });
  await t.step("a missing command", async () => {
    assert.match((await real("/does/not/ps")).output, /^cannot start "\/does\/not\/ps": /);
  });
  await t.step("a command that fails", async () => {
    const { condition, output } = await real("/bin/false");
    assert.deepEqual([condition, output], ["unknown", '"/bin/false" failed with exit code 1']);
  });
  await t.step("a command that prints nothing of a process", async () => {
    const { condition, output } = await real("/bin/true");
    assert.deepEqual([condition, output], ["unknown", '"/bin/true" listed no processes']);
  });
  await t.step("endless command lines and a large pattern", async () => {
    const lines = Array.from({ length: 100 }, (_, id) => ` ${id} 00:01 1 S ${"a".repeat(100_000)}`);
    const { condition, output } = await observePrinted(lines, { pattern: "(a?){100}b" });
    assert.equal(condition, "unknown");
    assert.match(output, /^command lines have 10000000 characters, pattern searches at most \d+$/);
  });
  await t.step("Windows", async () => {
    const { output } = await observePrinted(LINES, { name: "x" }, { platform: "windows" });
    assert.equal(output, "Windows has no ps, which lists the processes");
  });
});

Deno.test("process: one of name, pattern and pid_file is required, and name excludes pattern", () => {
  const errorsOf = (parameters: Partial<ProcessParameters>) =>
    processKind.errors?.({ ...testCheck("ok"), kind: "process", parameters: { ...LIMITS, ...parameters } })
      .map(({ message }) => message);
  assert.deepEqual(errorsOf({}), ['selects no process, expected "name", "pattern" or "pid_file"']);
  assert.deepEqual(errorsOf({ name: "a", pattern: "b" }), [
    'cannot be used with "name", expected one of them',
  ]);
  assert.deepEqual(errorsOf({ name: "a", pidFile: "/b" }), []);
});
