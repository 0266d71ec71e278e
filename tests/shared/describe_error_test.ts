import assert from "node:assert/strict";
import { join } from "node:path";
import { testRows } from "../support/rows.ts";
import { describeFileError } from "../../src/shared/describe_error.ts";

Deno.test("describeFileError() describes the errors of the system for real files", async (t) => {
  const directory = await Deno.makeTempDir();
  await Deno.writeTextFile(join(directory, "file"), "");
  await Deno.symlink(join(directory, "loop"), join(directory, "loop"));
  const rows = [
    { path: "missing", access: "read", reason: "file does not exist" },
    { path: "missing/file", access: "write", reason: "its directory does not exist" },
    { path: ".", access: "write", reason: "it is a directory" },
    {
      path: "file/below",
      access: "read",
      reason: "its path leads through something that is not a directory",
    },
    { path: "loop", access: "read", reason: "symbolic links on its path form a loop" },
    { path: "x".repeat(300), access: "read", reason: "its path is longer than the system accepts" },
  ] as const;
  for (const { path, access, reason } of rows) {
    await t.step(reason, async () => {
      const attempt = { path: join(directory, path), access };
      const tried = access === "read" ? Deno.readFile(attempt.path) : Deno.writeTextFile(attempt.path, "");
      const error = await tried.then(() => assert.fail("no error"), (error: unknown) => error);
      assert.equal(describeFileError(error, attempt), reason);
    });
  }
  await Deno.remove(directory, { recursive: true });
});

Deno.test("describeFileError() names the missing permission, and keeps other words of the system", async (t) => {
  const { NotCapable, PermissionDenied } = Deno.errors;
  const rows: Readonly<Record<string, unknown>> = {
    "grant --allow-read=/a": new NotCapable('Requires read access to "/a"'),
    "grant --allow-all": new NotCapable("Requires all access, run again with the --allow-all flag"),
    "permission denied": new PermissionDenied(""),
    "input/output error": new Error("Input/output error (os error 5): open '/a'"),
    "i/o error": Object.assign(new Error("EIO: i/o error, open '/a'"), { code: "EIO" }),
    "a text": "a text",
  };
  await testRows(t, rows, (error, reason) => assert.equal(describeFileError(error, { path: "/a" }), reason));
});
