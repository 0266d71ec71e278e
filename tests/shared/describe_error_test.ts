import assert from "node:assert/strict";
import { tempDirectory } from "../../testing/builders.ts";
import { testRows, testTable } from "../support/rows.ts";
import { describeFileError } from "../../src/shared/describe_error.ts";

Deno.test("describeFileError() describes the errors of the system for real files", async (t) => {
  await using directory = await tempDirectory({ file: "" });
  await Deno.symlink(`${directory.path}/loop`, `${directory.path}/loop`);
  const table = `
    missing      | read  | file does not exist
    missing/file | write | its directory does not exist
    .            | write | it is a directory
    file/below   | read  | its path leads through something that is not a directory
    loop         | read  | symbolic links on its path form a loop
    ${"x".repeat(300)} | read | its path is longer than the system accepts`;
  await testTable(t, table, async (name, access, reason) => {
    const attempt = { path: `${directory.path}/${name}`, access: access as "read" | "write" };
    const tried = access === "read" ? Deno.readFile(attempt.path) : Deno.writeTextFile(attempt.path, "");
    const error = await tried.then(() => assert.fail("no error"), (error: unknown) => error);
    assert.equal(describeFileError(error, attempt), reason);
  });
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
