/**
 * A running monitor while the disk of its state and of its output is full: run by full_disk.sh, with a directory on a
 * separate small disk. Throws if anything is wrong.
 */
import assert from "node:assert/strict";
import { withHarness } from "./program.ts";
import { withTarget } from "./target.ts";

const disk = Deno.args[0] ?? "";
const ballast = `${disk}/ballast`;

await withTarget((target) =>
  withHarness(async (harness) => {
    harness.writeConfig(
      {
        web: { kind: "http_request", parameters: target.parameters },
        other: { kind: "test", parameters: { condition: "ok" } },
      },
      { state: `${disk}/kept.sqlite` },
    );
    const program = harness.start(["check", "--format", "ndjson", "--log-level", "debug"], {
      shell: `exec "$@" >"${disk}/events"`,
    });
    // By the third result the first one is kept.
    for (let runs = 0; runs < 3; runs++) await program.stderr.next("debug: web: ok");

    fillUp();
    target.status = 500;
    // In any order: the last page of the output may have space for some more lines.
    const expected = new Set([
      / error: cannot write state ".*": the disk is full; free some space; retrying, monitoring continues$/,
      /CRITICAL: web: status is 500/,
      / warning: cannot write to stdout: No space left on device/,
    ]);
    while (expected.size > 0) {
      await program.stderr.next((line) =>
        [...expected].some((fits) => fits.test(line) && expected.delete(fits))
      );
    }
    for (let runs = 0; runs < 2; runs++) await program.stderr.next("debug: web: critical");
    const status = JSON.parse((await harness.run(["status", "--format", "json", "web"])).stdout);
    assert.equal(status.checks[0].confirmed, "ok", "the change is not kept yet");
    assert.equal((await harness.run(["check", "--once"])).code, 75);
    console.log("full: monitoring goes on, and reports");

    Deno.removeSync(ballast);
    await program.stderr.next(
      / info: the state is writable again, nothing was lost$/,
    );
    assert.equal((await harness.run(["status", "web"])).code, 2);
    const history = JSON.parse((await harness.run(["history", "--format", "json", "web"])).stdout);
    assert.deepEqual(history.changes.map(({ from, to }: Record<string, string>) => [from, to]), [[
      "ok",
      "critical",
    ]]);
    console.log("room again: what was decided meanwhile is kept");

    fillUp();
    target.status = 200;
    await program.stderr.next(/ error: cannot write state /);
    await program.stderr.next("OK, recovered: web");
    program.signal("SIGTERM");
    const { code, stderr } = await program.end();
    assert.equal(code, 74);
    assert.match(stderr, / error: cannot write the state: the last results are lost\n$/);
    // Once for each time that the disk was full, whatever was tried in between.
    assert.equal(stderr.split("error: cannot write state").length - 1, 2, stderr);
    assert.ok(stderr.split("cannot write to stdout").length - 1 <= 2, stderr);
    console.log("stopped while full: that is said, and each trouble was said once");

    const due = await harness.run(["check", "--once", "--due", "--state", `${disk}/new.sqlite`]);
    assert.equal(due.code, 74, due.stderr);
    assert.match(due.stderr, /^monitor: error: cannot .*: the disk is full/m);
    Deno.removeSync(ballast);
    assert.equal((await harness.run(["check", "--once"])).code, 0);
    console.log("a call on a full disk: 74, and it works when there is room");
  })
);

/** Fills the disk, to the last byte. */
function fillUp(): void {
  using file = Deno.openSync(ballast, { create: true, write: true });
  for (let size = 65536; size >= 1; size = Math.floor(size / 2)) {
    const block = new Uint8Array(size);
    try {
      for (;;) file.writeSync(block);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
    }
  }
}
