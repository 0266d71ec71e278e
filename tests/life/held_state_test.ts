import assert from "node:assert/strict";
import { withStage } from "./program.ts";
import { withTarget } from "./target.ts";

const CALLS = {
  "check": ["check"],
  "check --once": ["check", "--once"],
  "check --once --due": ["check", "--once", "--due"],
} as const;

for (const [holder, holderArgs] of Object.entries(CALLS)) {
  Deno.test(`monitor ${holder}: another call on its state ends at once with 75 and says who holds it`, async (t) => {
    await withTarget((target) =>
      withStage(async (stage) => {
        const check = { kind: "http_request", timeout: 20, parameters: target.parameters };
        stage.writeDocument({ web: check }, { defaults: { schedule: { regular_interval: 20 } } });
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
                `^monitor: error: Cannot use the state "${stage.folder}/.*\\.sqlite": ` +
                  `another monitor holds it \\(process ${program.pid}\\)\nmonitor: hint: .*--state none\n$`,
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
  });
}
