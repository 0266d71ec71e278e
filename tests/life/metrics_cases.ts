/** The file of metrics of the real program. */
import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { withHarness } from "./program.ts";

const test = concurrentTests("monitor check: metrics");

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
