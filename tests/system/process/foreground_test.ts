import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { runArguments } from "../../../testing/source.ts";
import { runChild, tool } from "../../../testing/tools.ts";

Deno.test("run() starts the command and returns its exit code, however few file descriptors are free", async () => {
  const fixture = fileURLToPath(new URL("../../fixtures/run_with_few_descriptors.ts", import.meta.url));
  // The runtime raises its limit as far as it may, so the upper one is set.
  const { success, stdout, stderr } = await runChild(tool("sh"), [
    ...["-c", 'ulimit -n 64; exec "$@"', "sh", Deno.execPath()],
    ...runArguments(["--allow-all"]),
    fixture,
  ]);
  assert.ok(success, stderr);
  const counts = [...Array(12).keys()].map((index) => index + 1);
  assert.equal(stdout, counts.map((free) => `ran\n${free} free: 5\n`).join(""));
});
