/** Summaries under cron, in a service that was down at their time, and sent by hand. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { type Harness, withHarness } from "./program.ts";
import { startHook } from "./receivers.ts";

const test = concurrentTests("summaries");

const CALL = ["check", "--once", "--due"];
const STATE = "state.sqlite";
const DAY_MS = 24 * 3_600_000;
const SENTENCE = /^\S+ \S+ UTC Summary: (.+)$/m;

function writeConfig(harness: Harness, notifications: readonly unknown[] = [CONSOLE]): void {
  harness.writeConfig({ fine: { kind: "test", parameters: { condition: "ok" } } }, {
    state: STATE,
    summary: { cron: "@daily", notifications },
  });
}

const CONSOLE = { kind: "console", parameters: {} };

/** Moves the last summary into the past, as if nothing had run since. */
function rewind({ directory }: Harness): void {
  using database = new DatabaseSync(`${directory}/${STATE}`);
  const { changes } = database.prepare("UPDATE summary SET scheduled_at_ms = scheduled_at_ms - ?").run(
    3 * DAY_MS,
  );
  assert.equal(changes, 1);
}

test("summaries: a call by cron sends a missed one, once", () =>
  withHarness(async (harness) => {
    writeConfig(harness);
    assert.deepEqual(await harness.run(CALL), { code: 0, stdout: "", stderr: "" });
    rewind(harness);
    const { code, stdout, stderr } = await harness.run(CALL);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, SENTENCE);
    assert.deepEqual(await harness.run(CALL), { code: 0, stdout: "", stderr: "" });
  }));

test("summaries: a service sends one that it was down for, once", () =>
  withHarness(async (harness) => {
    writeConfig(harness);
    await harness.run(CALL);
    rewind(harness);
    const program = harness.start(["check"]);
    assert.match(await program.stdout.next("Summary: "), SENTENCE);
    program.signal("SIGTERM");
    await program.end();
    assert.deepEqual(await harness.run(CALL), { code: 0, stdout: "", stderr: "" });
  }));

test("summaries: a channel that is down gets it later, from the outbox", () =>
  withHarness(async (harness) => {
    writeConfig(harness, [{ kind: "command", parameters: { path: "./tell" } }]);
    harness.writeScript("tell", "exit 1");
    await harness.run(CALL);
    rewind(harness);
    assert.equal((await harness.run(CALL)).code, 69);
    const { stdout } = await harness.run(["status", "--format", "json"]);
    const [pending] = JSON.parse(stdout).notifications;
    assert.deepEqual([pending.check, pending.event], ["summary", "summary"]);
    assert.match((await harness.run(["status"])).stdout, /^pending: summary to command /m);
    harness.writeScript("tell", 'echo "$MONITOR_EVENT $MONITOR_ID" >>told');
    for (let call = 0; call < 2; call++) await harness.run(CALL);
    assert.match(Deno.readTextFileSync(`${harness.directory}/told`), /^summary summary-[\da-f-]+\n$/);
  }));

test("summaries: --send sends one now, and tells what becomes of it", () =>
  withHarness(async (harness) => {
    writeConfig(harness, [CONSOLE, { kind: "command", parameters: { path: "./tell" } }]);
    harness.writeScript("tell", "exit 65");
    await harness.run(["check", "--once"]);
    const { code, stdout, stderr } = await harness.run(["summary", "--send"]);
    assert.deepEqual([code, stderr], [69, ""]);
    assert.match(stdout, SENTENCE);
    assert.deepEqual(stdout.split("\n").filter((line) => !SENTENCE.test(line)), [
      "console",
      "  written",
      "  delivered",
      `command ${harness.directory}/tell`,
      `  not delivered: "${harness.directory}/tell" exited with code 65`,
      "",
    ]);
  }));

test("summaries: --send reaches receivers on the network", () =>
  withHarness(async (harness) => {
    await using hook = startHook();
    writeConfig(harness, [hook.channel]);
    await harness.run(["check", "--once"]);
    const { code, stdout, stderr } = await harness.run(["summary", "--send"]);
    assert.deepEqual([code, stderr], [0, ""], stdout);
    assert.deepEqual(hook.posts.flatMap(({ notifications }) => notifications.map(({ event }) => event)), [
      "summary",
    ]);
  }));
