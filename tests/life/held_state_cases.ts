import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { existsSync } from "node:fs";
import { until } from "./in_time.ts";
import { livingProcesses } from "../support/processes.ts";
import { withStage } from "./program.ts";
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
        withStage(async (stage) => {
          const check = { kind: "http_request", timeout: 20, parameters: target.parameters };
          stage.writeConfig({ web: check }, { defaults: { schedule: { regular_interval: 20 } } });
          target.status = null;
          const program = stage.start(holderArgs);
          await target.held();
          for (const [other, otherArgs] of Object.entries(CALLS)) {
            await t.step(other, async () => {
              const { code, stdout, stderr } = await stage.run(otherArgs);
              assert.equal(code, 75);
              assert.equal(stdout, "");
              assert.match(
                stderr,
                new RegExp(
                  `^monitor: error: cannot use state "${stage.directory}/.*\\.sqlite": ` +
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
            assert.equal((await stage.run(["check", "--once"])).code, 0);
          });
        })
      );
    },
  );
}

const LOST = /^monitor: error: cannot use state ".*kept\.sqlite": its lock file was removed or replaced$/m;

for (const args of [["check"], ["check", "--once"]]) {
  test(`monitor ${args.join(" ")}: ends with 75 once its lock file is removed, with the checks that run`, () =>
    withStage(async (stage) => {
      const started = `${stage.directory}/started`;
      stage.writeScript("slow.sh", `echo $$ > '${started}'; exec sleep 300`);
      const script = (): number | false =>
        existsSync(started) && (Number(Deno.readTextFileSync(started)) || false);
      stage.writeConfig({
        [stage.mark]: { kind: "script", timeout: 600, parameters: { path: "./slow.sh" } },
      }, { state: "kept.sqlite" });
      const first = stage.start(args);
      const pid = await until("the script", script);
      Deno.removeSync(started);
      Deno.removeSync(`${stage.directory}/kept.sqlite.lock`);
      const second = stage.start(["check"]);
      const { code, stderr } = await first.end();
      assert.equal(code, 75, stderr);
      assert.match(stderr, LOST);
      await until("the end of its script", () => !livingProcesses(stage.mark).includes(pid));
      await until("the script of the second", script);
      second.signal("SIGKILL");
    }));
}

test("monitor check: ends with 75 once its lock file is replaced, in the middle of a delivery", () =>
  withTarget((target) =>
    withStage(async (stage) => {
      const { target: address } = target.parameters["request"] as { target: string };
      const webhook = { kind: "webhook", parameters: { target: address } };
      stage.writeConfig({ bad: { kind: "test", parameters: { condition: "critical" } } }, {
        state: "kept.sqlite",
        defaults: { threshold: 1, schedule: { regular_interval: 1 }, notifications: [webhook] },
      });
      target.status = null;
      const program = stage.start(["check"]);
      await target.held();
      Deno.writeTextFileSync(`${stage.directory}/other`, "");
      Deno.renameSync(`${stage.directory}/other`, `${stage.directory}/kept.sqlite.lock`);
      const { code, stderr } = await program.end();
      assert.equal(code, 75, stderr);
      assert.match(stderr, LOST);
      assert.equal(target.requests, 1);
    })
  ));
