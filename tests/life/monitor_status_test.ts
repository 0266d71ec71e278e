/** The output of `monitor status` and others with a config that has errors. */
import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { type Harness, withHarness } from "./program.ts";
import { testRows } from "../support/rows.ts";

const test = concurrentTests("monitor status: state of the monitor");

const OK = { kind: "test", parameters: { condition: "ok", output: "all is well" } };
const BAD = { kind: "test", parameters: { condition: "critical", output: "it is gone" } };
interface Status {
  readonly checks: readonly { readonly name: string; readonly condition: string }[];
  readonly monitor: { readonly state: string; readonly config_edited: boolean | null } | null;
  readonly config_error: string | null;
}

async function statusOf(
  harness: Harness,
): Promise<Status & { readonly code: number; readonly stderr: string }> {
  const { code, stdout, stderr } = await harness.runHere(["status", "--format", "json"]);
  return { code, stderr, ...JSON.parse(stdout) as Status };
}

test(
  "monitor status, history, silence, notification: they go by the state while the config has errors",
  async (_add, t) => {
    const broken: Readonly<Record<string, string>> = {
      "an unknown key": JSON.stringify({ defaults: {}, chekcs: {}, state: "kept.sqlite" }),
      "no JSON any more": '{ "defaults": {}, "state": "kept.sqlite", "checks": { "fine": {',
    };
    await withHarness(async (harness) => {
      harness.writeConfig({ fine: OK, bad: BAD }, { state: "kept.sqlite" });
      await harness.runHere(["check", "--once"]);
      const program = harness.startHere(["check", "--format", "ndjson"]);
      await program.stdout.event("start");
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
        assert.match((await harness.runHere(["silence", "list"])).stdout, /^bad: silenced until /);
        assert.equal((await harness.runHere(["silence", "end", "bad"])).stdout, "ended 1 silence\n");
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
