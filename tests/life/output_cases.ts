/** What the program prints and logs, and targets that send without end. */
import { requiresTools, startChild } from "../../testing/tools.ts";
import assert from "node:assert/strict";
import { concurrentTests, provided } from "../support/concurrent_tests.ts";
import { withHarness } from "./program.ts";
import { fileURLToPath } from "node:url";
import type { Event } from "./lines.ts";
import { withTarget } from "./target.ts";

const test = provided(withHarness, concurrentTests("monitor check: output"));
const testInAll = concurrentTests("monitor check: output: more", requiresTools("time"));
const testInAllWithHarness = provided(withHarness, testInAll);

const OK = { kind: "test", parameters: { condition: "ok", output: "all is well" } };
const BAD = {
  title: "The bad one",
  kind: "test",
  parameters: { condition: "critical", output: "it is gone" },
};

test("monitor check: pretty prints a line at the start and one for each notification, and the log goes to stderr", async (harness) => {
  harness.writeConfig({ fine: OK, bad: BAD, off: { ...OK, active: false } });
  const program = harness.startHere(["check", "--log-level", "debug"]);
  await program.stdout.next(
    / The bad one \(bad\) is critical: it is gone \(CRITICAL.*, was pending, 1 result since .*\)$/,
  );
  await program.stderr.next(/Z debug: fine: ok: all is well confirmed=ok duration_ms=\d+ late_ms=\d+$/);
  program.signal("SIGTERM");
  const { code, stdout, stderr } = await program.end();
  assert.equal(code, 0);
  const [first, ...rest] = stdout.trimEnd().split("\n");
  assert.match(
    first ?? "",
    /^monitor \d+\.\d+\.\d+ started: 2 checks \(1 inactive\) from \S*\/monitor\.json, state in \/.*\.sqlite$/,
  );
  assert.equal(rest.length, 1, stdout);
  for (const line of stderr.trimEnd().split("\n")) {
    assert.match(line, /^\d{4}-\d\d-\d\dT[\d:.]+Z (debug|info): /);
  }
});

testInAllWithHarness(
  "monitor check --log-level warning: leaves out lower levels, and no notification",
  async (harness) => {
    harness.writeConfig({ bad: { ...BAD, timeout: 60 } });
    const program = harness.startHere(["check", "--log-level", "warning"]);
    await program.stdout.next("CRITICAL");
    Deno.writeTextFileSync(`${harness.directory}/monitor.json`, "{");
    program.signal("SIGHUP");
    await program.stderr.next("the old one stays active");
    program.signal("SIGTERM");
    const { stderr } = await program.end();
    const levels = stderr.trimEnd().split("\n").map((line) => /Z (\w+): /.exec(line)?.[1] ?? line);
    assert.deepEqual([...new Set(levels)].sort(), ["error", "warning"]);
  },
);

testInAll("monitor check: a reader that closes its end ends nothing, and is told once", (add) => {
  for (const format of ["pretty", "ndjson"]) {
    add(format, () =>
      withHarness(async (harness) => {
        // Each result is a reminder, so that there is always something to print.
        harness.writeConfig({ bad: { ...BAD, reminders: true } });
        const program = harness.start(["check", "--format", format, "--log-level", "debug"]);
        await program.stdout.next(format === "pretty" ? "CRITICAL" : '"notification"');
        await program.stdout.close();
        await program.stderr.next(
          / warning: cannot write to stdout: its reader closed it; output is lost, monitoring continues/,
        );
        const before = processorTicks(program.pid);
        for (let runs = 0; runs < 2; runs++) await program.stderr.next("debug: bad: critical");
        const spent = processorTicks(program.pid) - before;
        assert.ok(spent < 100, `${spent} ticks of processor time in about two seconds`);
        program.signal("SIGTERM");
        const { code, stderr } = await program.end();
        assert.equal(code, 0);
        assert.equal(stderr.split("its reader closed it").length, 2);
      }));
  }
});

/** User and system time so far, in ticks of a hundredth of a second. */
function processorTicks(pid: number): number {
  const fields = Deno.readTextFileSync(`/proc/${pid}/stat`).split(") ").at(-1)?.split(" ") ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

testInAllWithHarness("monitor check: a log that cannot be written ends nothing", async (harness) => {
  harness.writeConfig({ bad: { ...BAD, reminders: true } });
  const program = harness.start(["check", "--log-level", "debug"], { shell: 'exec "$@" 2>/dev/full' });
  for (let notifications = 0; notifications < 2; notifications++) await program.stdout.next("CRITICAL");
  program.signal("SIGTERM");
  assert.equal((await program.end()).code, 0);
});

const ONCE = ["check", "--once"];

test("monitor report: a public page shows only checks with its tags, without outputs, also over that of the config", async (harness) => {
  const check = (output: string, tags: readonly string[]): unknown => ({
    kind: "test",
    tags,
    title: `Title of ${tags.join()}`,
    parameters: { condition: "critical", output },
  });
  harness.writeConfig({
    web: check("output of web", ["website"]),
    inner: check("output of inner", ["inner"]),
  }, { report: { path: "page.html", public: ["website"] }, page: { title: "Status of example.org" } });
  const path = `${harness.directory}/page.html`;
  const isPublic = (html: string): void => {
    assert.match(html, /Status of example\.org/);
    assert.match(html, /Title of website/);
    assert.doesNotMatch(html, /output of|Title of inner|monitor\.json/);
  };
  await harness.runHere([...ONCE, "--due"]);
  isPublic(Deno.readTextFileSync(path));
  assert.equal((await harness.runHere(["report", "-o", "page.html"])).code, 0);
  isPublic(Deno.readTextFileSync(path));
  isPublic((await harness.runHere(["report", "--public", "website"])).stdout);
  const whole = await harness.runHere(["report"]);
  assert.match(whole.stdout, /output of inner/);
  const unknown = await harness.runHere(["report", "--public", "websit"]);
  assert.equal(unknown.code, 64);
  assert.match(unknown.stderr, /no check has the tag "websit"/);
});

// Targets that flood the monitor with responses, alongside healthy ones.

const testFlood = provided(withTarget, concurrentTests("monitor check: floods", requiresTools("time")));

const FLOOD = fileURLToPath(new URL("../fixtures/flood_informational.ts", import.meta.url));

/** Starts four servers in a process of their own, whose work is not that of the test. */
async function startFlood(): Promise<AsyncDisposable & { readonly ports: readonly number[] }> {
  const args = ["run", "--quiet", "--no-check", "--no-config", "--allow-net=127.0.0.1", FLOOD];
  const child = startChild(Deno.execPath(), args, { stdout: "piped" });
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let line = "";
  for (; !line.includes("\n");) line += (await reader.read()).value ?? "\n";
  return {
    ports: JSON.parse(line),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
      await reader.cancel();
    },
  };
}

const FLOODED =
  /^reading the response head from 127\.0\.0\.1:\d+ failed: more than 100 informational responses/;

testFlood(
  "monitor check: four targets that flood with informational responses hurt no other check",
  (target) =>
    withHarness(async (harness) => {
      await using flood = await startFlood();
      const request = (port: number): unknown => ({
        kind: "http_request",
        parameters: { request: { target: `http://127.0.0.1:${port}/` } },
      });
      const flooding = Object.fromEntries(flood.ports.map((port) => [`flood ${port}`, request(port)]));
      harness.writeConfig({
        healthy: { kind: "http_request", timeout: 120, parameters: target.parameters },
        ...flooding,
      });
      const program = harness.start(["check", "--format", "ndjson", "--state", "none"]);
      const results: Event[] = [];
      // Each runs twice at least.
      while (results.filter(({ name }) => name === "healthy").length < 2 || results.length < 10) {
        results.push(await program.stdout.event("result"));
      }
      for (const { name, condition, output } of results) {
        if (name === "healthy") assert.equal(condition, "ok");
        else assert.match(String(output), FLOODED);
      }
      program.signal("SIGTERM");
      assert.equal((await program.end()).code, 0);
    }),
);
