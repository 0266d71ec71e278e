import assert from "node:assert/strict";
import { join } from "node:path";
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
  const rows = [
    {
      name: "no permission of the runtime",
      error: new Deno.errors.NotCapable('Requires read access to "/a"'),
      reason: "grant --allow-read=/a",
    },
    {
      name: "a path that requires all permissions",
      error: new Deno.errors.NotCapable("Requires all access, run again with the --allow-all flag"),
      reason: "grant --allow-all",
    },
    {
      name: "no permission of the system",
      error: new Deno.errors.PermissionDenied(""),
      reason: "permission denied",
    },
    {
      name: "an error of the runtime",
      error: new Error("Input/output error (os error 5): open '/a'"),
      reason: "input/output error",
    },
    {
      name: "an error of node:fs",
      error: Object.assign(new Error("EIO: i/o error, open '/a'"), { code: "EIO" }),
      reason: "i/o error",
    },
    { name: "something else", error: "a text", reason: "a text" },
  ];
  for (const { name, error, reason } of rows) {
    await t.step(name, () => assert.equal(describeFileError(error, { path: "/a" }), reason));
  }
});
