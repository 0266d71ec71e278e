/** The file of metrics of the real program, checked by `promtool` and served by a real node exporter. */
import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { startNodeExporter } from "../support/node_exporter.ts";
import { promtool } from "../support/promtool.ts";
import { requiresTools } from "../../testing/tools.ts";
import { until } from "./in_time.ts";
import { type Harness, withHarness } from "./program.ts";
import { startHook } from "./receivers.ts";

const test = concurrentTests("monitor check: metrics");

const CHECKS = {
  'the "web"\n': { kind: "test", parameters: { condition: "critical" } },
  plugin: {
    kind: "script",
    parameters: { path: "sh", arguments: ["-c", "echo 'fine|time=20ms;1000;2000'"] },
  },
};

test(
  "monitor check: keeps a file of metrics fresh, which promtool takes and a node exporter serves",
  () =>
    withHarness(async (harness) => {
      Deno.mkdirSync(`${harness.directory}/collected`);
      harness.writeConfig(CHECKS, { metrics: { path: "collected/monitor.prom", interval: 1, name: "one" } });
      const program = harness.startHere(["check"]);
      const text = await until("both checks in the file", () => {
        const text = readMetrics(harness, "collected/monitor.prom");
        return valueOf(text, 'monitor_check_runs_total{check="plugin",monitor="one"}') > 0 &&
          valueOf(text, 'monitor_check_runs_total{check="the \\"web\\"\\n",monitor="one"}') > 0 && text;
      });
      assert.deepEqual(await promtool(["check", "metrics"], text), { code: 0, text: "" });
      assert.equal(
        valueOf(text, 'monitor_check_confirmed_condition{check="the \\"web\\"\\n",monitor="one"}'),
        2,
      );
      assert.equal(
        valueOf(text, 'monitor_check_performance{check="plugin",label="time",unit="seconds",monitor="one"}'),
        0.02,
      );
      await using exporter = await startNodeExporter(`${harness.directory}/collected`);
      const served = await exporter.scrape();
      assert.match(served, /^node_textfile_scrape_error 0$/m);
      assert.match(
        served,
        /^monitor_check_confirmed_condition\{check="the \\"web\\"\\n",monitor="one"\} 2$/m,
      );
      assert.match(served, /^# TYPE monitor_check_runs_total counter$/m);
      const firstLoop = valueOf(text, 'monitor_last_loop_timestamp_seconds{monitor="one"}');
      await until("another writing", () =>
        valueOf(
          readMetrics(harness, "collected/monitor.prom"),
          'monitor_last_loop_timestamp_seconds{monitor="one"}',
        ) > firstLoop);
      assert.equal((await harness.runHere(["maintenance", "start", "plugin", "--for", "1h"])).code, 0);
      await until("the maintenance", () => {
        const suppressed = readMetrics(harness, "collected/monitor.prom").match(
          /^monitor_check_suppressed.*$/gm,
        );
        if (suppressed === null) return false;
        assert.deepEqual(suppressed, [
          'monitor_check_suppressed{check="plugin",by="maintenance",monitor="one"} 1',
        ]);
        return true;
      });
      program.signal("SIGTERM");
      assert.equal((await program.end()).code, 0);
      assert.deepEqual([...Deno.readDirSync(`${harness.directory}/collected`)].map(({ name }) => name), [
        "monitor.prom",
      ]);
    }),
  requiresTools("prometheus-node-exporter", "promtool"),
);

test(
  "monitor check --once: counts on from call to call, and counts what the channels took",
  () =>
    withHarness(async (harness) => {
      await using hook = startHook();
      hook.status = 503;
      const channel = hook.channel;
      harness.writeConfig({ web: { kind: "test", parameters: { condition: "critical" } } }, {
        defaults: { threshold: 1, schedule: { regular_interval: "1 hour" }, notifications: [channel] },
        state: "kept.sqlite",
        metrics: { path: "monitor.prom" },
      });
      const name = new URL(`http://${/127\.0\.0\.1:\d+/.exec(JSON.stringify(channel))?.[0]}`).host;
      await harness.runHere(["check", "--once"]);
      let text = readMetrics(harness);
      assert.equal(valueOf(text, `monitor_notifications_pending{channel="webhook ${name}"}`), 1);
      assert.equal(valueOf(text, `monitor_notification_attempts_failed_total{channel="webhook ${name}"}`), 1);
      assert.equal(valueOf(text, `monitor_notifications_sent_total{channel="webhook ${name}"}`), 0);
      hook.status = 200;
      // Nothing is due, and the file is renewed nevertheless.
      Deno.removeSync(`${harness.directory}/monitor.prom`);
      await harness.runHere(["check", "--once", "--due"]);
      text = readMetrics(harness);
      assert.equal(valueOf(text, 'monitor_check_runs_total{check="web"}'), 1);
      assert.equal(valueOf(text, `monitor_notifications_pending{channel="webhook ${name}"}`), 0);
      assert.equal(valueOf(text, `monitor_notification_attempts_failed_total{channel="webhook ${name}"}`), 1);
      assert.equal(valueOf(text, `monitor_notifications_sent_total{channel="webhook ${name}"}`), 1);
      await harness.runHere(["check", "--once"]);
      text = readMetrics(harness);
      assert.equal(valueOf(text, 'monitor_check_runs_total{check="web"}'), 2);
      assert.equal(valueOf(text, 'monitor_check_failures_total{check="web",condition="critical"}'), 2);
      assert.deepEqual(await promtool(["check", "metrics"], text), { code: 0, text: "" });
      Deno.removeSync(`${harness.directory}/monitor.prom`);
      await harness.runHere(["check", "--once", "--state", "none"]);
      assert.equal(readMetrics(harness), "", "without a state there are no counts to tell");
    }),
  requiresTools("promtool"),
);

test("monitor check --once: metrics that cannot be written are said, and change nothing else", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ web: { kind: "test", parameters: { condition: "ok" } } }, {
      state: "kept.sqlite",
      metrics: { path: "none/monitor.prom" },
    });
    const { code, stderr } = await harness.runHere(["check", "--once", "--due"]);
    assert.equal(code, 0);
    assert.equal(
      stderr,
      `monitor: warning: cannot write the metrics to "${harness.directory}/none/monitor.prom": its directory does not exist\n`,
    );
  }));

test("monitor check: says of a reload with errors that it failed, and follows the config elsewhere", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ web: { kind: "test", parameters: {} } }, {
      metrics: { path: "one.prom", interval: 1 },
    });
    const program = harness.startHere(["check"]);
    const successful = (path: string): number =>
      valueOf(readMetrics(harness, path), "monitor_config_last_reload_successful");
    await until("the first file", () => successful("one.prom") === 1);
    const path = `${harness.directory}/monitor.json`;
    const sound = Deno.readTextFileSync(path);
    Deno.writeTextFileSync(path, "{");
    program.signal("SIGHUP");
    await until("the failed reload", () => successful("one.prom") === 0);
    Deno.writeTextFileSync(path, sound.replace("one.prom", "two.prom"));
    program.signal("SIGHUP");
    await until("the other file", () => successful("two.prom") === 1);
    program.signal("SIGTERM");
    assert.equal((await program.end()).code, 0);
  }));

function readMetrics({ directory }: Harness, path = "monitor.prom"): string {
  try {
    return Deno.readTextFileSync(`${directory}/${path}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

/** The value of a series; `NaN` where it is not there. */
function valueOf(text: string, series: string): number {
  const line = text.split("\n").find((line) => line.startsWith(`${series} `));
  return line === undefined ? NaN : Number(line.slice(series.length + 1));
}
