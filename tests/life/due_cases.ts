/** `monitor check --once --due`, called again and again as cron does; a second stands for cron's minute. */
import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { type End, type Harness, withHarness } from "./program.ts";
import { type Target, withTarget } from "./target.ts";

const test = concurrentTests("monitor check --once --due");

const CALL = ["check", "--once", "--due"];

/** Calls until the target was asked once more; every call before that was too early. */
async function callUntilAsked(harness: Harness, target: Target): Promise<End> {
  for (let calls = 0; calls < 100; calls++) {
    const before = target.requests;
    const end = await harness.run(CALL);
    if (target.requests > before) return end;
    assert.deepEqual(end, { code: 0, stdout: "", stderr: "" }, "a call that is too early says nothing");
  }
  throw new Error("the check never became due");
}

test("monitor check --once --due: counts are kept between calls, and only a notification is said", () =>
  withTarget((target) =>
    withHarness(async (harness) => {
      harness.writeConfig({
        web: { kind: "http_request", threshold: 3, recovery_threshold: 2, parameters: target.parameters },
      });
      const said: string[] = [];
      const codes: number[] = [];
      for (const status of [500, 500, 500, 500, 200, 200]) {
        target.status = status;
        const { code, stdout, stderr } = await callUntilAsked(harness, target);
        assert.equal(stderr, "");
        codes.push(code);
        said.push(stdout.replaceAll(/\d{4}-\S+ \S+ UTC/g, "[TIME]"));
      }
      assert.deepEqual(codes, [2, 2, 2, 2, 0, 0], "the exit code is what was seen");
      assert.deepEqual(said, [
        "",
        "",
        "[TIME] CRITICAL: web: status is 500, expected 200 (was pending, 3 results in a row since [TIME])\n",
        "",
        "",
        "[TIME] OK, recovered: web: status is 200 (was critical since [TIME])\n",
      ]);
      assert.equal(target.requests, 6);
    })
  ));

test("monitor check: a service goes on where --once --due left off", () =>
  withTarget((target) =>
    withHarness(async (harness) => {
      harness.writeConfig({
        web: { kind: "http_request", threshold: 3, recovery_threshold: 1, parameters: target.parameters },
      });
      target.status = 500;
      for (let run = 0; run < 2; run++) await callUntilAsked(harness, target);
      const program = harness.start(["check", "--format", "ndjson"]);
      const first = await program.stdout.event("result");
      assert.deepEqual([first["occurrences"], first["confirmed"]], [3, "critical"]);
      await program.stdout.event("notification");
      program.signal("SIGTERM");
      await program.end();
      target.status = 200;
      assert.match((await callUntilAsked(harness, target)).stdout, / OK, recovered: web: /);
    })
  ));
