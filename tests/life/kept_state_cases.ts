import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { withHarness } from "./program.ts";

const test = concurrentTests("monitor check: kept state");

const BAD = { kind: "test", parameters: { condition: "critical" } };

test("monitor check: a truncated -shm file ends it with SIGBUS, and the state is as it was", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ bad: BAD }, { state: "kept.sqlite" });
    const program = harness.start(["check", "--format", "ndjson"]);
    await program.stdout.event("result");
    Deno.truncateSync(`${harness.directory}/kept.sqlite-shm`, 0);
    // 128 and the signal's number.
    assert.equal((await program.end()).code, 135);
    assert.equal((await harness.runHere(["check", "--once"])).code, 2);
    const { stdout, stderr } = await harness.runHere(["status"]);
    assert.match(stdout, /CRITICAL\s+bad/);
    assert.equal(stderr, "");
  }));
