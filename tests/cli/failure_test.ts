import assert from "node:assert/strict";
import { describeFailure, rememberSecrets, StateHeldError } from "../../src/cli/failure.ts";
import { missingUserId } from "../../src/domain/runtime_permissions.ts";
import { StoreError } from "../../src/domain/store.ts";
import { type Rows, testRows } from "../support/rows.ts";

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
