/**
 * The output of `monitor status` and others about a running, stopped or dead service, and with a config that has
 * errors.
 */
import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { existsSync } from "node:fs";
import { until } from "./in_time.ts";
import { type Harness, type Program, withHarness } from "./program.ts";
import { testRows } from "../support/rows.ts";

const test = concurrentTests("monitor status: state of the monitor");

const OK = { kind: "test", parameters: { condition: "ok", output: "all is well" } };
const BAD = { kind: "test", parameters: { condition: "critical", output: "it is gone" } };
const PLACE = {
  state: "kept.sqlite",
  report: { path: "page.html", interval: "1 hour" },
  metrics: { path: "monitor.prom", interval: "1 hour" },
};

interface Monitor {
  readonly state: string;
  readonly process_id: number | null;
  readonly stopped_at: string | null;
  readonly config: string | null;
  readonly config_edited: boolean | null;
}

interface Status {
  readonly checks: readonly { readonly name: string; readonly condition: string }[];
  readonly monitor: Monitor | null;
  readonly config_error: string | null;
}

async function statusOf(
  harness: Harness,
): Promise<Status & { readonly code: number; readonly stderr: string }> {
  const { code, stdout, stderr } = await harness.runHere(["status", "--format", "json"]);
  return { code, stderr, ...JSON.parse(stdout) as Status };
}

async function startService(
  harness: Harness,
  start: Harness["startHere"] = harness.startHere,
): Promise<Program> {
  harness.writeConfig({ fine: OK, bad: BAD }, PLACE);
  await harness.runHere(["check", "--once"]);
  const program = start(["check", "--format", "ndjson"]);
  await program.stdout.event("start");
  return program;
}

test("monitor status: it says whether a service runs, was stopped, or died", () =>
  withHarness(async (harness) => {
    let program = await startService(harness);
    const { monitor } = await statusOf(harness);
    assert.deepEqual(
      { ...monitor, started_at: null, config_loaded_at: null },
      {
        state: "running",
        process_id: program.pid,
        started_at: null,
        stopped_at: null,
        last_seen_at: null,
        config: `${harness.directory}/monitor.json`,
        config_loaded_at: null,
        reload_failed_at: null,
        reload_error: null,
        config_edited: false,
        members: null,
      },
    );
    assert.match(
      (await harness.runHere(["status"])).stdout,
      /2 checks: 1 ok, 1 critical; monitor running for \d+ s\n$/,
    );
    const page = (): string => Deno.readTextFileSync(`${harness.directory}/page.html`);
    const valid = /valid until <time[^]*After that, monitor is not running/;
    await until("the first page", () => existsSync(`${harness.directory}/page.html`) && valid.test(page()));

    const metrics = (): string => Deno.readTextFileSync(`${harness.directory}/monitor.prom`);
    await until("the first metrics of the service", () => metrics().includes("\nmonitor_running 1\n"));

    program.signal("SIGTERM");
    assert.equal((await program.end()).code, 0);
    assert.match(metrics(), /\nmonitor_running 0\n/);
    assert.equal((await statusOf(harness)).monitor?.state, "stopped");
    assert.match((await harness.runHere(["status"])).stdout, /; monitor stopped \d+ s ago\n$/);
    const fine = await harness.runHere(["status", "fine"]);
    assert.equal(fine.code, 3, "no check runs any more");
    const plugin = await harness.runHere(["status", "--format", "plugin", "fine"]);
    assert.equal(plugin.code, 3);
    assert.match(
      plugin.stdout,
      /^MONITOR UNKNOWN - monitor stopped \d+ s ago; 1 of 1 check unknown: fine \(monitor stopped \d+ s ago, was ok: all is well\) \|/,
    );
    const stopped = /monitor is not running: it was stopped at <time[^]*No check runs until you start it\./;
    assert.match(page(), stopped);
    assert.match((await harness.runHere(["report"])).stdout, stopped);

    program = await startService(harness, harness.start);
    await until("the page of the next service", () => valid.test(page()));
    program.signal("SIGKILL");
    await program.end();
    assert.equal((await statusOf(harness)).monitor?.state, "died");
    assert.match(
      (await harness.runHere(["status"])).stdout,
      /\n2 checks: 2 unknown; monitor terminated unexpectedly, last seen \d+ s ago\n$/,
    );
    assert.match(
      (await harness.runHere(["report"])).stdout,
      /monitor is not running: it terminated unexpectedly and was last seen at /,
    );
    // A page that was written before can only show how long it was meant to be valid.
    assert.match(page(), valid);

    await harness.runHere(["check", "--once", "--due"]);
    assert.doesNotMatch(metrics(), /monitor_running/, "cron is no service");
    assert.equal((await statusOf(harness)).monitor?.state, "cron");
    assert.match((await harness.runHere(["status"])).stdout, /\n\n2 checks: 1 ok, 1 critical[^\n]*\n$/);
  }));

test(
  "monitor status, history, silence, notification: they go by the state while the config has errors",
  async (_add, t) => {
    const broken: Readonly<Record<string, string>> = {
      "an unknown key": JSON.stringify({ defaults: {}, chekcs: {}, state: "kept.sqlite" }),
      "no JSON any more": '{ "defaults": {}, "state": "kept.sqlite", "checks": { "fine": {',
    };
    await withHarness(async (harness) => {
      const program = await startService(harness);
      await testRows(t, broken, async (text) => {
        Deno.writeTextFileSync(`${harness.directory}/monitor.json`, text);
        const { code, checks, monitor, config_error: error, stderr } = await statusOf(harness);
        assert.equal(code, 2);
        assert.deepEqual(checks.map(({ name, condition }) => [name, condition]), [["fine", "ok"], [
          "bad",
          "critical",
        ]]);
        assert.equal(monitor?.state, "running");
        assert.equal(monitor.config_edited, null);
        assert.match(error ?? "", /^cannot use config "\.\/monitor\.json": 1 error$/);
        assert.match(
          stderr,
          /^monitor: warning: cannot use config .*; showing the checks of the state \(see: monitor validate\)\n$/,
        );
        assert.match(
          (await harness.runHere(["status", "bad"])).stdout,
          /\n\nconfig: invalid; monitor uses the one loaded .+ ago\n\n/,
        );
        assert.match(
          (await harness.runHere(["history", "bad"])).stdout,
          /pending to critical: it is gone\n$/,
        );
        assert.match((await harness.runHere(["silence", "bad"])).stdout, /^bad: silenced until /);
        assert.match((await harness.runHere(["silence", "--list"])).stdout, /^bad: silenced until /);
        assert.equal((await harness.runHere(["unsilence", "bad"])).stdout, "ended 1 silence\n");
        assert.match((await harness.runHere(["report"])).stdout, /<h3>bad<\/h3>/);
        // The files that it would overwrite are unknown.
        assert.equal((await harness.runHere(["report", "-o", "other.html"])).code, 78);
        assert.equal(
          (await harness.runHere(["status", "--tag", "web"])).code,
          78,
          "tags are in the config alone",
        );
        const unknown = await harness.runHere(["silence", "badd"]);
        assert.equal(unknown.code, 64);
        assert.match(unknown.stderr, /did you mean "bad"\?/);
      });
      Deno.removeSync(`${harness.directory}/monitor.json`);
      assert.equal((await harness.runHere(["status"])).code, 78, "nothing says where the state is");
      const named = await harness.runHere(["status", "--state", "kept.sqlite", "--format", "plugin"]);
      assert.equal(named.code, 2);
      assert.match(
        named.stdout,
        /^MONITOR CRITICAL - config: invalid; [^;]* ago; 1 of 2 checks critical: bad \(it is gone\) \|/,
      );
      program.signal("SIGTERM");
      await program.end();
    });
  },
);

test("monitor status: without a state a config with errors is one", () =>
  withHarness(async (harness) => {
    Deno.writeTextFileSync(`${harness.directory}/monitor.json`, "{");
    for (const args of [["status"], ["history", "web"], ["silence", "web"], ["report"]]) {
      const { code, stderr } = await harness.runHere(args);
      assert.equal(code, 78);
      assert.match(stderr, /^monitor: error: cannot use config /m);
    }
  }));
