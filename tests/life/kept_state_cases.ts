/** The path of the state, and the behavior of the program if it cannot be used. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { withHarness } from "./program.ts";

const test = concurrentTests("monitor check: kept state");

const BAD = { kind: "test", parameters: { condition: "critical" } };

test("monitor check: a state that is damaged while monitor runs is quarantined, and nothing known is lost", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ bad: BAD, worse: { ...BAD, threshold: 2 } }, { state: "kept.sqlite" });
    const program = harness.start(["check", "--format", "ndjson"]);
    await program.stdout.event(
      "notification",
      ({ notification }) => (notification as { check: string }).check === "worse",
    );
    program.signal("SIGSTOP");
    overwriteTables(`${harness.directory}/kept.sqlite`);
    program.signal("SIGCONT");
    await program.stderr.next(
      /it was quarantined as ".*kept\.sqlite\.damaged-.*" and replaced by an empty state$/,
    );
    await program.stderr.next("the state is writable again");
    await program.stdout.event("result");
    program.signal("SIGTERM");
    assert.equal((await program.end()).code, 0);
    const status = JSON.parse((await harness.run(["status", "--format", "json"])).stdout);
    assert.deepEqual(status.checks.map(({ confirmed }: { confirmed: string }) => confirmed), [
      "critical",
      "critical",
    ]);
  }));

/** Overwrites the tables. Another process's write makes the monitor read them again, with different contents. */
function overwriteTables(path: string): void {
  const database = new DatabaseSync(path);
  database.exec("UPDATE checks SET seen_at_ms = seen_at_ms");
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  using file = Deno.openSync(path, { write: true });
  file.seekSync(4096, Deno.SeekMode.Start);
  file.writeSync(new Uint8Array(file.statSync().size - 4096).fill(0xa5));
  database.close();
}

test("monitor check: a truncated -shm file ends it with SIGBUS, and the state is as it was", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ bad: BAD }, { state: "kept.sqlite" });
    const program = harness.start(["check", "--format", "ndjson"]);
    await program.stdout.event("result");
    Deno.truncateSync(`${harness.directory}/kept.sqlite-shm`, 0);
    // 128 and the signal's number.
    assert.equal((await program.end()).code, 135);
    assert.equal((await harness.run(["check", "--once"])).code, 2);
    const { stdout, stderr } = await harness.run(["status"]);
    assert.match(stdout, /CRITICAL\s+bad/);
    assert.equal(stderr, "");
  }));
