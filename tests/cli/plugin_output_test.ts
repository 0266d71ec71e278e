/** A plugin prints one line and exits with 0 to 3, however it ends. */
import assert from "node:assert/strict";
import { PluginOutput, reportUncaught, run } from "../../src/cli/run.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";

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
