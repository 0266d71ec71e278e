import assert from "node:assert/strict";
import { UsageError } from "../../src/cli/command_definition.ts";
import { describeFailure, OutputError } from "../../src/cli/failure.ts";
import { rememberSecrets } from "../../src/cli/known_secrets.ts";
import { StateHeldError } from "../../src/cli/state_errors.ts";
import { ConfigError } from "../../src/config/problem.ts";
import { missingUserId } from "../../src/domain/runtime_permissions.ts";
import { StoreError } from "../../src/domain/store.ts";

Deno.test("describeFailure() puts an error into words and an exit code", async (t) => {
  const full = Object.assign(new Error("No space left on device"), { code: "ENOSPC" });
  const rows: readonly {
    readonly name: string;
    readonly error: unknown;
    readonly code: number;
    readonly text: string;
  }[] = [
    {
      name: "usage error",
      error: new UsageError('unknown command "chek"', 'did you mean "monitor check"?'),
      code: 64,
      text: 'monitor: error: unknown command "chek"\nmonitor: hint: did you mean "monitor check"?\n',
    },
    {
      name: "a config that cannot be read",
      error: new ConfigError('cannot read config "x": file does not exist'),
      code: 78,
      text: 'monitor: error: cannot read config "x": file does not exist\n',
    },
    {
      name: "output",
      error: new OutputError("cannot write"),
      code: 74,
      text: "monitor: error: cannot write\n",
    },
    {
      name: "a full disk",
      error: full,
      code: 74,
      text: "monitor: error: cannot write: No space left on device\n",
    },
    {
      name: "the state",
      error: new StoreError("cannot keep", "full"),
      code: 74,
      text: "monitor: error: cannot keep\n",
    },
    {
      name: "a locked state",
      error: new StateHeldError("in use by another monitor"),
      code: 75,
      text: "monitor: error: in use by another monitor\n" +
        "monitor: hint: run monitor status, or add --state none\n",
    },
    {
      name: "a permission, run from the source",
      error: new Deno.errors.NotCapable('Requires read access to "/x", run again with the --allow-read flag'),
      code: 77,
      text: 'monitor: error: missing permission: Requires read access to "/x"\n' +
        "monitor: hint: grant it with --allow-read=/x\n",
    },
    {
      name: "a permission that the state requires",
      error: new StoreError('cannot open state "/x/s": a permission is missing', "denied", {
        cause: missingUserId("ownership of files"),
      }),
      code: 77,
      text: 'monitor: error: missing permission: Requires sys access to "uid" ownership of files\n' +
        "monitor: hint: grant it with --allow-sys=uid\n",
    },
    {
      name: "a permission of an executable",
      error: new Deno.errors.NotCapable(
        'Requires read access to "/x", specify the required permissions during compilation using `deno compile --allow-read`',
      ),
      code: 77,
      text: 'monitor: error: missing permission: Requires read access to "/x"\n' +
        "monitor: hint: grant it with --allow-read=/x\n",
    },
  ];
  for (const { name, error, code, text } of rows) {
    await t.step(
      name,
      () => assert.deepStrictEqual(describeFailure(error, { color: false }), { text, exitCode: code }),
    );
  }
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
