/** The path of the state, and the behavior of the program if it cannot be used. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { withHarness } from "./program.ts";

const test = concurrentTests("monitor check: kept state");

const BAD = { kind: "test", parameters: { condition: "critical" } };

/** Makes `.local` a file, in which even root cannot create a directory. */
function spoilHome(directory: string): void {
  Deno.writeTextFileSync(`${directory}/.local`, "");
}

test("monitor check: an unusable default directory is a warning, and the state lives in memory", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ bad: { ...BAD, threshold: 2 } });
    spoilHome(harness.directory);
    const program = harness.start(["check"]);
    await program.stderr.next(/ warning: cannot lock ".*\/\.local\/.*; counts are lost when this run ends/);
    await program.stdout.next("started: 1 check from ./monitor.json, no state");
    await program.stdout.next(/ CRITICAL: bad: .*2 results in a row/);
    program.signal("SIGTERM");
    assert.equal((await program.end()).code, 0);
  }));

test("monitor check: without any directory for it the state lives in memory", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ bad: BAD });
    const program = harness.start(["check"], { environment: { HOME: "", XDG_STATE_HOME: "relative" } });
    await program.stderr.next(
      / warning: cannot store the state: none of STATE_DIRECTORY, XDG_STATE_HOME and HOME /,
    );
    await program.stdout.next("no state");
    await program.stdout.next("CRITICAL: bad");
  }));

test("monitor check: a state that another process writes to for seconds is no error, and no check waits", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ bad: BAD }, { state: "kept.sqlite" });
    const program = harness.start(["check", "--format", "ndjson"]);
    await program.stdout.event("result");
    using other = new DatabaseSync(`${harness.directory}/kept.sqlite`);
    other.exec("PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE");
    // The changes of the first one are to be written before the third one arrives.
    for (let result = 0; result < 3; result++) await program.stdout.event("result");
    other.exec("ROLLBACK");
    program.signal("SIGTERM");
    const { code, stderr } = await program.end();
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(stderr, /cannot write/);
    const runs = other.prepare("SELECT runs_critical FROM checks").get()?.["runs_critical"];
    assert.ok(Number(runs) >= 4, `${runs} runs`);
  }));

const UNUSABLE: Readonly<
  Record<string, {
    readonly args: readonly string[];
    readonly others?: Readonly<Record<string, unknown>>;
    readonly environment?: Readonly<Record<string, string>>;
    readonly message: RegExp;
  }>
> = {
  "named by --state": {
    args: ["check", "--state", ".local/state.sqlite"],
    message: /^monitor: error: cannot lock ".*\/\.local\/state\.sqlite\.lock": /m,
  },
  "named by the config": {
    args: ["check", "--once"],
    others: { state: ".local/state.sqlite" },
    message: /^monitor: error: cannot lock ".*\/\.local\/state\.sqlite\.lock": /m,
  },
  "the default one, with --due": {
    args: ["check", "--once", "--due"],
    message: /^monitor: error: cannot lock ".*\/\.local\/state\/monitor\/.*\.lock": /m,
  },
  "no directory for it, with --due": {
    args: ["check", "--once", "--due"],
    environment: { HOME: "" },
    message: /^monitor: error: cannot store the state: none of .*; set --state PATH$/m,
  },
};

for (const [name, { args, others, environment, message }] of Object.entries(UNUSABLE)) {
  test(`monitor check: an unusable state is error 74: ${name}`, () =>
    withHarness(async (harness) => {
      harness.writeConfig({ bad: BAD }, others);
      spoilHome(harness.directory);
      const { code, stdout, stderr } = await harness.run(args, environment && { environment });
      assert.equal(code, 74);
      assert.match(stderr, message);
      assert.equal(stdout, "", "nothing ran");
    }));
}

test("monitor check --once --due: a config from stdin has no state, and says how to give it one", () =>
  withHarness(async (harness) => {
    const stdin = JSON.stringify({ defaults: {}, checks: { bad: BAD } });
    const args = ["check", "--once", "--due", "--config", "-"];
    const { code, stderr } = await harness.run(args, { stdin });
    assert.equal(code, 74);
    assert.match(
      stderr,
      /the config is read from stdin; set --state PATH/,
    );
    assert.equal((await harness.run([...args, "--state", "state.sqlite"], { stdin })).code, 2);
  }));

test("monitor check: a damaged state is quarantined with a warning, and monitoring continues", (add) => {
  const damages: Readonly<Record<string, (path: string) => void>> = {
    "no database at all": (path) => Deno.writeTextFileSync(path, "this is no database\n".repeat(100)),
    "a page overwritten": (path) => {
      using file = Deno.openSync(path, { write: true });
      file.seekSync(4096, Deno.SeekMode.Start);
      file.writeSync(new Uint8Array(4096).fill(0xa5));
    },
  };
  for (const [name, damage] of Object.entries(damages)) {
    add(name, () =>
      withHarness(async (harness) => {
        harness.writeConfig({ bad: BAD }, { state: "state/kept.sqlite" });
        assert.equal((await harness.run(["check", "--once"])).code, 2);
        damage(`${harness.directory}/state/kept.sqlite`);
        const program = harness.start(["check"]);
        const line = await program.stderr.next(/it was quarantined as ".*" and replaced by an empty state$/);
        const aside = /quarantined as "(.*)" and/.exec(line)?.[1] ?? "";
        assert.match(aside, /\/state\/kept\.sqlite\.damaged-\d{8}T\d{6}Z$/);
        assert.ok(Deno.statSync(aside).size > 0);
        await program.stdout.next("CRITICAL: bad");
        assert.equal((await harness.run(["status"])).code, 2);
      }));
  }
});

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

test("monitor check --state none: nothing is kept", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ bad: BAD });
    const before = [...Deno.readDirSync(harness.directory)].length;
    const program = harness.start(["check", "--state", "none"]);
    await program.stdout.next("no state");
    await program.stdout.next("CRITICAL: bad");
    program.signal("SIGTERM");
    const { code, stderr } = await program.end();
    assert.equal(code, 0);
    assert.doesNotMatch(stderr, /warning/);
    assert.equal([...Deno.readDirSync(harness.directory)].length, before);
    assert.equal((await harness.run(["status", "--state", "none"])).code, 64);
  }));
