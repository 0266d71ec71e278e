import assert from "node:assert/strict";

Deno.test("run() starts the command and tells its exit code, however few file descriptors are free", async () => {
  const fixture = new URL("../fixtures/run_with_few_descriptors.ts", import.meta.url).pathname;
  // The runtime raises its limit as far as it may, so the upper one is set.
  const { success, stdout, stderr } = await new Deno.Command("/bin/sh", {
    args: ["-c", 'ulimit -n 64; exec "$@"', "sh", Deno.execPath(), "run", "--no-check", "-A", fixture],
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  const counts = [...Array(12).keys()].map((index) => index + 1);
  assert.equal(new TextDecoder().decode(stdout), counts.map((free) => `ran\n${free} free: 5\n`).join(""));
});
