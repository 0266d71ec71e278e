import { createRealClock } from "../../testing/real_clock.ts";
import assert from "node:assert/strict";
import { join } from "node:path";
import { findCommand } from "../../src/shared/find_command.ts";
import { createFiles } from "../../src/system/files.ts";

Deno.test("findCommand() finds the first executable file in an absolute directory of PATH", async () => {
  const directory = await Deno.makeTempDir();
  for (const name of ["one", "two", "three"]) await Deno.mkdir(join(directory, name));
  await Deno.writeTextFile(join(directory, "one", "tool"), "", { mode: 0o644 });
  await Deno.mkdir(join(directory, "two", "tool"));
  await Deno.writeTextFile(join(directory, "three", "tool"), "", { mode: 0o755 });
  const path = ["", ".", "/missing", "one", "two", "three"].map((name) =>
    /^[a-z]/.test(name) ? join(directory, name) : name
  ).join(":");
  const system = {
    files: createFiles(createRealClock()),
    environment: () => path,
    platform: "linux",
  } as const;
  assert.deepEqual(await findCommand("tool", system), {
    path: join(directory, "three", "tool"),
    denied: null,
  });
  assert.deepEqual(await findCommand("other", system), { path: null, denied: null });
  await Deno.remove(directory, { recursive: true });
});

Deno.test("findCommand() returns the first permission that was missing", async () => {
  const refuse = () => Promise.reject(new Deno.errors.NotCapable("Requires read access"));
  const files = { ...createFiles(createRealClock()), stat: refuse };
  const system = { files, environment: () => "/a:/b", platform: "linux" } as const;
  const denied = { permission: "read", value: "/a/tool" };
  assert.deepEqual(await findCommand("tool", system), { path: null, denied });
});
