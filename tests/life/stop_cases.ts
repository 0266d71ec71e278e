import assert from "node:assert/strict";
import { requiresTools } from "../../testing/tools.ts";
import { concurrentTests, provided } from "../support/concurrent_tests.ts";
import { livingProcesses, untilGone } from "../support/processes.ts";
import { until } from "./in_time.ts";
import { type Harness, type Program, withHarness } from "./program.ts";
import { withTarget } from "./target.ts";

const test = concurrentTests("monitor check: stop");
const testWithHarness = provided(withHarness, test);

test("monitor check: SIGTERM lets a running check finish, keeps its result and exits 0", () =>
  withTarget((target) =>
    withHarness(async (harness) => {
      harness.writeConfig({
        web: { kind: "http_request", parameters: target.parameters },
        other: { kind: "test", parameters: { condition: "ok" } },
      });
      target.status = null;
      const program = harness.startHere(["check", "--format", "ndjson"]);
      const held = await target.held();
      program.signal("SIGTERM");
      await program.stderr.next('stopping after SIGTERM; waiting for "web"');
      held.answer(500);
      const { code, stdout } = await program.end();
      assert.equal(code, 0);
      assert.equal(target.requests, 1, "nothing begins any more");
      const events = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
      assert.deepEqual(
        events.filter(({ name, event, notification }) => name === "web" || notification || event === "stop")
          .map(({ event }) => event),
        ["result", "notification", "stop"],
      );
      const stop = { event: "stop", at: "", signal: "SIGTERM", unfinished: [] };
      assert.deepEqual({ ...events.at(-1), at: "" }, stop);
      const status = JSON.parse((await harness.runHere(["status", "--format", "json", "web"])).stdout);
      assert.deepEqual([status.checks[0].confirmed, status.checks[0].notified], ["critical", "critical"]);
    })
  ));

testWithHarness(
  "monitor check: SIGINT after SIGTERM exits 130 at once and leaves no child",
  async (harness) => {
    // The command and its child ignore SIGTERM.
    harness.writeScript("stubborn.sh", "trap '' TERM\nsleep 600 &\nwhile :; do sleep 600; done");
    harness.writeConfig({
      quick: { kind: "test", parameters: { condition: "warning" } },
      [harness.mark]: { kind: "script", timeout: 600, parameters: { path: "./stubborn.sh" } },
    });
    const program = harness.start(["check", "--format", "ndjson"]);
    await program.stdout.event("result", ({ name }) => name === "quick");
    await until("the script's children", () => livingProcesses(harness.mark).length >= 3);
    program.signal("SIGTERM");
    await program.stderr.next("stopping");
    program.signal("SIGINT");
    const { code, stdout } = await program.end();
    assert.equal(code, 130);
    const last = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");
    const stop = { event: "stop", at: "", signal: "SIGINT", unfinished: [harness.mark] };
    assert.deepEqual({ ...last, at: "" }, stop);
    await untilGone(harness.mark);
    const known = await harness.runHere(["status", "quick"]);
    assert.match(known.stdout, /monitor stopped .* ago, was warning/, "what was known by then is kept");
  },
);

testWithHarness(
  "monitor check --once: SIGTERM exits 143, names what has no result and leaves no child",
  async (harness) => {
    harness.writeScript("forever.sh", "sleep 600 &\nsleep 600");
    harness.writeConfig({
      quick: { kind: "test", parameters: { condition: "critical", output: "seen" } },
      [harness.mark]: { kind: "script", timeout: 600, parameters: { path: "./forever.sh" } },
    });
    const program = harness.startHere(["check", "--once", "--format", "ndjson"]);
    await program.stdout.event("result");
    await until("the script's children", () => livingProcesses(harness.mark).length >= 3);
    program.signal("SIGTERM");
    const end = await program.end();
    assert.equal(end.code, 143);
    assert.match(end.stderr, new RegExp(`^monitor: stopped: no result of ${harness.mark}$`, "m"));
    const summary = JSON.parse(end.stdout.trimEnd().split("\n").at(-1) ?? "");
    assert.deepEqual(summary.unfinished, [harness.mark]);
    await untilGone(harness.mark);
    assert.equal((await harness.runHere(["status", "quick"])).code, 2, "what was seen is kept");
  },
);

for (
  const { signal, args, code } of [
    { signal: "SIGINT", args: [], code: 0 },
    { signal: "SIGTERM", args: ["--once"], code: 143 },
  ] as const
) {
  testWithHarness(
    `monitor ${["check", ...args].join(" ")}: ${signal} while the config is read exits ${code}`,
    async (harness) => {
      const { program, complete } = await startReading(harness, args);
      program.signal(signal);
      const ended = await program.end();
      complete();
      const stderr = `monitor: stopped by ${signal} before any check ran\n`;
      assert.deepEqual(ended, { code, stdout: "", stderr });
    },
    code === 143 ? {} : requiresTools("time"),
  );
}

/** Starts `check` and waits until it reads its config, which it does until that is complete. */
async function startReading(
  harness: Harness,
  args: readonly string[],
): Promise<{ readonly program: Program; complete(): void }> {
  Deno.writeTextFileSync(`${harness.directory}/text`, '{ "defaults": {}, "checks": {} }');
  // A pipe buffers 64 KiB, so more than that reaches only a command that reads.
  harness.writeScript(
    "write",
    "head -c 200000 /dev/zero | tr '\\0' ' '; touch reading; until [ -e complete ] || [ ! -e write ]; do sleep 0.02; done; cat text",
  );
  const program = harness.start(["check", "--config", "-", ...args], {
    shell: 'mkfifo config; ./write >config 2>/dev/null & exec "$@" <config',
  });
  await until(
    "the program reads",
    () => Deno.readDirSync(harness.directory).some(({ name }) => name === "reading"),
  );
  return { program, complete: () => Deno.writeTextFileSync(`${harness.directory}/complete`, "") };
}
