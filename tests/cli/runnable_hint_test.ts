import assert from "node:assert/strict";
import { CONFIG_OPTION } from "../../src/cli/command_definition.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { runnableHint } from "../../src/cli/failure.ts";
import { STATE_OPTION } from "../../src/cli/state_location.ts";

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
