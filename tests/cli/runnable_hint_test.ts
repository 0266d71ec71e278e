import assert from "node:assert/strict";
import { CONFIG_OPTION } from "../../src/cli/command_definition.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { run } from "../../src/cli/run.ts";
import { runnableHint } from "../../src/cli/runnable_hint.ts";
import { STATE_OPTION } from "../../src/cli/state_location.ts";
import { createConfigSystem } from "../../testing/config_system.ts";
import type { MemorySink } from "../../testing/memory_system.ts";
import { testRows } from "../support/rows.ts";

Deno.test("runnableHint() adds config and state to the commands that read them", async (t) => {
  for (const { name, options } of COMMANDS) {
    await t.step(name, () => {
      const hint = `list them with: monitor ${name} NAME`;
      const words = [
        ...options.includes(CONFIG_OPTION) ? ["-c 'a b.jsonc'"] : [],
        ...options.includes(CONFIG_OPTION) && options.includes(STATE_OPTION) ? ["--state /x"] : [],
      ];
      const added = hint.replace(name, [name, ...words].join(" "));
      assert.equal(runnableHint(hint, { config: "a b.jsonc", state: "/x" }), added);
      assert.equal(runnableHint(hint, {}), hint);
      assert.equal(runnableHint(hint, { config: "-", state: "postgres://monitor:secret@db/x" }), hint);
    });
  }
});

Deno.test("runnableHint() leaves sentences and commands with a config alone", () => {
  for (const text of ["another monitor uses it", "see: monitor status -c x", "the monitor check is late"]) {
    assert.equal(runnableHint(text, { config: "y.jsonc" }), text);
  }
  const both = "run monitor status, or start it with: monitor check";
  assert.equal(
    runnableHint(both, { config: "y" }),
    "run monitor status -c y, or start it with: monitor check -c y",
  );
});

Deno.test("monitor prints a hint for the words and the options of other tools", async (t) => {
  const rows: Readonly<Record<string, RegExp>> = {
    "version": /print the version with: monitor --version/,
    "list": /list the checks with: monitor status/,
    "start": /with: monitor check/,
    "start --state=/x -c y.json": /with: monitor check -c y\.json --state \/x$/m,
    "test": /monitor check --once, or a new one with: monitor try TARGET/,
    "check -once": /unknown option "-once" of "check"\nmonitor: hint: did you mean "--once"\?/,
    "--once -c x.json": /hint: did you mean: monitor check -c x\.json --once$/m,
    "-c x.json": /hint: did you mean: monitor check -c x\.json$/m,
    "--nonce": /hint: see: monitor --help$/m,
    "checl": /did you mean "monitor check"\?/,
  };
  await testRows(t, rows, async (hint, line) => {
    const system = createConfigSystem();
    assert.equal(await run(line.split(" "), system), 64);
    assert.match((system.stderr as MemorySink).text(), hint);
  });
});
