import assert from "node:assert/strict";
import { createLagReporter, type LagSummary } from "../../src/scheduler/stall_safe.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";

Deno.test("createLagReporter() logs the first late run at once, and those of a minute in one line with the greatest lag", async () => {
  const clock = createFakeClock();
  const reported: LagSummary[] = [];
  const note = createLagReporter({ after: clock.after, report: (lag) => void reported.push(lag) });
  note("z", 999);
  assert.deepStrictEqual(reported, []);
  note("a", 1000);
  assert.deepStrictEqual(reported, [{ count: 1, highestMs: 1000, name: "a" }]);
  await clock.advance(10_000);
  note("b", 2000);
  note("c", 9000);
  note("d", 3000);
  await clock.advance(49_999);
  assert.strictEqual(reported.length, 1);
  await clock.advance(1);
  assert.deepStrictEqual(reported[1], { count: 3, highestMs: 9000, name: "c" });
  await clock.advance(60_000);
  assert.strictEqual(reported.length, 2, "a minute without lateness is not told");
  note("e", 1000);
  assert.deepStrictEqual(
    reported[2],
    { count: 1, highestMs: 1000, name: "e" },
    "the next one is told at once again",
  );
  await clock.advance(120_000);
  assert.strictEqual(clock.timers, 0);
});
