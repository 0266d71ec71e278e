import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { existsSync } from "node:fs";
import { until } from "./in_time.ts";
import { livingProcesses } from "../support/processes.ts";
import { withHarness } from "./program.ts";

const test = concurrentTests("monitor check: state lock");

const LOST = /^monitor: error: cannot use state ".*kept\.sqlite": its lock file was removed or replaced$/m;

for (const args of [["check"], ["check", "--once"]]) {
  test(`monitor ${args.join(" ")}: ends with 75 once its lock file is removed, with the checks that run`, () =>
    withHarness(async (harness) => {
      const started = `${harness.directory}/started`;
      harness.writeScript("slow.sh", `echo $$ > '${started}'; exec sleep 300`);
      const script = (): number | false =>
        existsSync(started) && (Number(Deno.readTextFileSync(started)) || false);
      harness.writeConfig({
        [harness.mark]: { kind: "script", timeout: 600, parameters: { path: "./slow.sh" } },
      }, { state: "kept.sqlite" });
      const first = harness.start(args);
      const pid = await until("the script", script);
      Deno.removeSync(started);
      Deno.removeSync(`${harness.directory}/kept.sqlite.lock`);
      const second = harness.start(["check"]);
      const { code, stderr } = await first.end();
      assert.equal(code, 75, stderr);
      assert.match(stderr, LOST);
      await until("the end of its script", () => !livingProcesses(harness.mark).includes(pid));
      await until("the script of the second", script);
      second.signal("SIGKILL");
    }));
}
