import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { existsSync } from "node:fs";
import { until } from "./in_time.ts";
import { livingProcesses } from "../support/processes.ts";
import { withHarness } from "./program.ts";
import { withTarget } from "./target.ts";

const test = concurrentTests("monitor check: state lock");

const CALLS = {
  "check": ["check"],
  "check --once": ["check", "--once"],
  "check --once --due": ["check", "--once", "--due"],
} as const;

for (const [holder, holderArgs] of Object.entries(CALLS)) {
  test(
    `monitor ${holder}: another call on its state ends at once with 75 and says who holds it`,
    async (_add, t) => {
      await withTarget((target) =>
        withHarness(async (harness) => {
          const check = { kind: "http_request", timeout: 20, parameters: target.parameters };
          harness.writeConfig({ web: check }, { defaults: { schedule: { regular_interval: 20 } } });
          target.status = null;
          const program = harness.start(holderArgs);
          await target.held();
          for (const [other, otherArgs] of Object.entries(CALLS)) {
            await t.step(other, async () => {
              const { code, stdout, stderr } = await harness.run(otherArgs);
              assert.equal(code, 75);
              assert.equal(stdout, "");
              assert.match(
                stderr,
                new RegExp(
                  `^monitor: error: cannot use state "${harness.directory}/.*\\.sqlite": ` +
                    `in use by another monitor \\(process ${program.pid}\\)\nmonitor: hint: .*--state none\n$`,
                ),
              );
            });
          }
          assert.equal(target.requests, 1, "the others asked nothing");
          await t.step("none once the holder was killed", async () => {
            program.signal("SIGKILL");
            await program.end();
            target.status = 200;
            assert.equal((await harness.run(["check", "--once"])).code, 0);
          });
        })
      );
    },
  );
}

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

test("monitor check: ends with 75 once its lock file is replaced, in the middle of a delivery", () =>
  withTarget((target) =>
    withHarness(async (harness) => {
      const { target: address } = target.parameters["request"] as { target: string };
      const webhook = { kind: "webhook", parameters: { target: address } };
      harness.writeConfig({ bad: { kind: "test", parameters: { condition: "critical" } } }, {
        state: "kept.sqlite",
        defaults: { threshold: 1, schedule: { regular_interval: 1 }, notifications: [webhook] },
      });
      target.status = null;
      const program = harness.start(["check"]);
      await target.held();
      Deno.writeTextFileSync(`${harness.directory}/other`, "");
      Deno.renameSync(`${harness.directory}/other`, `${harness.directory}/kept.sqlite.lock`);
      const { code, stderr } = await program.end();
      assert.equal(code, 75, stderr);
      assert.match(stderr, LOST);
      assert.equal(target.requests, 1);
    })
  ));
