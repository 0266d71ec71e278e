import { OPTION } from "../../src/cli/command_definition.ts";
import assert from "node:assert/strict";
import { loadCommands } from "../../src/cli/command_loaders.ts";
import { runnableHint } from "../../src/cli/failure.ts";

const COMMANDS = await loadCommands();

Deno.test("runnableHint() adds config and state to the commands that read them", async (t) => {
  for (const { name, options } of COMMANDS) {
    await t.step(name, () => {
      const hint = `list them with: monitor ${name} NAME`;
      const words = [
        ...options.includes(OPTION.config) ? ["-c 'a b.jsonc'"] : [],
        ...options.includes(OPTION.config) && options.includes(OPTION.state) ? ["--state /x"] : [],
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
