/** The file of metrics of the real program, checked by `promtool`. */
import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { promtool } from "../support/promtool.ts";
import { requiresTools } from "../../testing/tools.ts";
import { type Harness, withHarness } from "./program.ts";
import { startHook } from "./receivers.ts";

const test = concurrentTests("monitor check: metrics");

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
