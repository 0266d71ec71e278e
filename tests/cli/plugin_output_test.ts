/** A plugin prints one line and exits with 0 to 3, however it ends. */
import assert from "node:assert/strict";
import { reportUncaught, run } from "../../src/cli/run.ts";
import { PluginOutput } from "../../src/cli/plugin_output.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { tempDirectory } from "../../testing/builders.ts";

const OK = `{ "defaults": {}, "checks": { "a": { "kind": "test", "parameters": { "condition": "ok" } } } }`;

interface Row {
  readonly args: readonly string[];
  readonly config?: string;
  /** @default 3 */
  readonly code?: number;
  readonly stdout: RegExp;
  readonly stderr?: RegExp;
}

const ROWS: Readonly<Record<string, Row>> = {
  "results": {
    args: ["check", "--once", "--state", "none"],
    code: 0,
    stdout: /^MONITOR OK - 1 check ok \| .*\n$/,
  },
  "an invalid config": {
    args: ["check", "--once", "--state", "none"],
    config: `{ "defaults": {}, "checks": { "a": { "kind": "tset" } } }`,
    stdout: /^MONITOR UNKNOWN - [^|\n]*monitor\.json[^|\n]*\n$/,
    stderr: /monitor\.json:1:\d+: checks\.a\.kind: is "tset"/,
  },
  "a state that cannot be opened": {
    args: ["check", "--once", "--state", "/proc/none/state.sqlite"],
    stdout: /^MONITOR UNKNOWN - [^|\n]*\/proc\/none[^|\n]*\n$/,
    stderr: /^monitor: error: /,
  },
  "an output that cannot be written": {
    args: ["check", "--once", "--state", "none", "--output", "junit=/proc/none/j.xml"],
    stdout: /^MONITOR UNKNOWN - cannot write "\/proc\/none\/j\.xml": [^|\n]*; 1 check ok \| .*\n$/,
    stderr: /^monitor: error: cannot write "/m,
  },
  "a usage error": {
    args: ["check", "--once", "--due", "--state", "none"],
    stdout: /^MONITOR UNKNOWN - --due requires a state\n$/,
    stderr: /^monitor: error: --due requires a state\n/,
  },
  "status without a state": {
    args: ["status"],
    stdout: /^MONITOR UNKNOWN - no stored state to read\n$/,
    stderr: /^monitor: error: /,
  },
};

Deno.test("run() ends a plugin with one line and an exit code of plugins", async (t) => {
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  for (const [name, { args, config = OK, code = 3, stdout, stderr }] of Object.entries(ROWS)) {
    for (const format of [["--format", "plugin"], ["--format=plugin"]]) {
      await t.step(`${name}, ${format.join(" ")}`, async () => {
        Deno.writeTextFileSync(`${directory}/monitor.json`, config);
        const system = createMemorySystem({ workingDirectory: directory });
        assert.equal(await run([...args, "-c", `${directory}/monitor.json`, ...format], system), code);
        assert.match(system.stdout.text(), stdout);
        if (stderr !== undefined) assert.match(system.stderr.text(), stderr);
      });
    }
  }
});

Deno.test("run() leaves the exit codes of other formats alone", async () => {
  const system = createMemorySystem({});
  assert.equal(await run(["check", "--once", "--format", "json", "--bogus"], system), 64);
  assert.equal(system.stdout.text(), "");
});

Deno.test("PluginOutput names the reason of an exit code without an error, before the results", () => {
  const system = createMemorySystem({});
  const output = new PluginOutput(system);
  output.system.stdout.write("MONITOR WARNING - 1 of 2 checks warning: a (slow) | 'ok'=1\nWARNING a: slow\n");
  assert.equal(output.end(143), 3);
  assert.equal(
    system.stdout.text(),
    "MONITOR UNKNOWN - stopped before every check had a result; 1 of 2 checks warning: a (slow) | 'ok'=1\n" +
      "WARNING a: slow\n",
  );
});

Deno.test("PluginOutput exits with unknown if it cannot print", () => {
  const system = createMemorySystem({});
  const stdout = {
    ...system.stdout,
    closed: false,
    isTerminal: false,
    columns: () => null,
    write: () => {
      throw new Error("no space left");
    },
  };
  assert.equal(new PluginOutput({ ...system, stdout }).end(0), 3);
  assert.equal(system.stderr.text(), "monitor: error: cannot write to stdout: no space left\n");
});

Deno.test("reportUncaught() ends a plugin with a line of it", () => {
  const system = createMemorySystem({});
  assert.equal(reportUncaught(new TypeError("a | b"), system, ["check", "--once", "--format", "plugin"]), 3);
  assert.equal(system.stdout.text(), "MONITOR UNKNOWN - bug in monitor\n");
  assert.match(system.stderr.text(), /TypeError: a \| b/);
  assert.equal(reportUncaught(new TypeError("x"), createMemorySystem({}), ["check"]), 70);
});
