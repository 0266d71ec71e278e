import assert from "node:assert/strict";
import {
  describeFailure,
  rememberSecrets,
  renderProblems,
  runnableHint,
  StateHeldError,
} from "../../src/cli/failure.ts";
import { missingUserId } from "../../src/domain/runtime_permissions.ts";
import { StoreError } from "../../src/domain/store.ts";
import { type Rows, testRows } from "../support/rows.ts";
import type { Source } from "../../src/config/problem.ts";
import { PluginOutput, reportUncaught, run } from "../../src/cli/run.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { OPTION } from "../../src/cli/command_definition.ts";
import { loadCommands } from "../../src/cli/command_loaders.ts";
import { commandHelp, programHelp, PROJECT_URL } from "../../src/cli/help.ts";

const COMMANDS = await loadCommands();

Deno.test("describeFailure() puts an error into words and an exit code", async (t) => {
  const full = Object.assign(new Error("No space left on device"), { code: "ENOSPC" });
  const rows: Rows<[error: unknown, exitCode: number, text: string]> = {
    "a full disk": [full, 74, "monitor: error: cannot write: No space left on device\n"],
    "a locked state": [
      new StateHeldError("in use by another monitor"),
      75,
      "monitor: error: in use by another monitor\n" +
      "monitor: hint: run monitor status, or add --state none\n",
    ],
    "a permission, run from the source": [
      new Deno.errors.NotCapable('Requires read access to "/x", run again with the --allow-read flag'),
      77,
      'monitor: error: missing permission: Requires read access to "/x"\n' +
      "monitor: hint: grant it with --allow-read=/x\n",
    ],
    "a permission that the state requires": [
      new StoreError('cannot open state "/x/s": a permission is missing', "denied", {
        cause: missingUserId("ownership of files"),
      }),
      77,
      'monitor: error: missing permission: Requires sys access to "uid" ownership of files\n' +
      "monitor: hint: grant it with --allow-sys=uid\n",
    ],
  };
  await testRows(t, rows, ([error, exitCode, text]) => {
    assert.deepStrictEqual(describeFailure(error, { color: false }), { text, exitCode });
  });
  await t.step("a bug", () => {
    const { text, exitCode } = describeFailure(new TypeError("x is not a function"), { color: false });
    assert.strictEqual(exitCode, 70);
    assert.match(text, /^monitor: error: bug in monitor\n.*\nTypeError: x is not a function\n/);
  });
});

Deno.test("describeFailure() hides secrets and control characters in the message of a bug", () => {
  const secret = "planted-in-a-bug-71aa";
  rememberSecrets([secret]);
  const error = new TypeError(`Invalid URL: 'http://host/${secret}\u001b]0;owned\u0007\u202e'`);
  const { text } = describeFailure(error, { color: false });
  assert.ok(!text.includes(secret), text);
  assert.match(text, /Invalid URL: 'http:\/\/host\/\[secret\]\\x1b\]0;owned\\x07\\u202e'\n/);
});

function render(text: string, needle: string, label = "monitor.json"): string {
  const offset = text.indexOf(needle);
  const lineStart = text.lastIndexOf("\n", offset) + 1;
  const source: Source = { label, path: null, directory: "/", text, mode: null };
  const line = text.slice(0, offset).split("\n").length;
  const problem = {
    path: "a.b",
    message: "is wrong",
    hint: null,
    line,
    column: offset - lineStart + 1,
    offset,
  };
  return renderProblems(source, [problem], { color: false, severity: "error" });
}

Deno.test("renderProblems() escapes control characters in file names", () => {
  const text = render('{ "a": 1 }', "1", "conf.d/\u001b[2J\nforged.jsonc");
  assert.ok(text.startsWith("conf.d/\\x1b[2J\\nforged.jsonc:1:8: a.b: is wrong\n"), text);
});

Deno.test("renderProblems() hides the keys of check-ins and agents, and the path of a chat's URL", () => {
  for (
    const text of [
      '"ping_key": "swordfish"',
      '"nas": { "key": "swordfish" }',
      '"X-Functions-Key": "swordfish"',
      '"url": "https://chat.example.org/swordfish"',
    ]
  ) {
    const shown = render(`{ ${text}, "port": "x" }`, '"x"');
    assert.ok(shown.includes("*********") && !shown.includes("swordfish"), shown);
  }
});

Deno.test("renderProblems() hides text even behind the longest name of a secret", () => {
  const text = render(`{ "${"x".repeat(3000)}_password": "swordfish", "port": "x" }`, '"x"');
  assert.ok(text.includes("*********") && !text.includes("swordfish"), text);
});

// A plugin prints one line and exits with 0 to 3, however it ends.

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

Deno.test("commandHelp() ends with the URL of an existing page", () => {
  for (const command of COMMANDS) {
    const page = `docs/${command.page}`;
    assert.ok(Deno.statSync(new URL(`../../${page}`, import.meta.url)).isFile, page);
    assert.ok(
      commandHelp(command).endsWith(`\n\nDocumentation:\n${PROJECT_URL}/blob/main/${page}\n`),
      command.name,
    );
  }
});

Deno.test("programHelp() and commandHelp() fit a terminal of 80 columns, except for URLs", () => {
  for (const help of [programHelp(COMMANDS), ...COMMANDS.map(commandHelp)]) {
    const lines = help.split("\n").filter((line) => !line.startsWith("https://"));
    assert.deepEqual(lines.filter((line) => line.length > 80), []);
  }
});
