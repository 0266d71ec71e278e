import assert from "node:assert/strict";
import { createLagReporter, type LagSummary } from "../../src/scheduler/scheduling_lag.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";

function start(): { clock: FakeClock; reported: LagSummary[]; note: (name: string, lateMs: number) => void } {
  const clock = createFakeClock();
  const reported: LagSummary[] = [];
  const note = createLagReporter({ after: clock.after, report: (lag) => void reported.push(lag) });
  return { clock, reported, note };
}

Deno.test("createLagReporter() logs the first late run at once, and no lag of less than a second", () => {
  const { reported, note } = start();
  note("a", 999);
  assert.deepStrictEqual(reported, []);
  note("b", 1000);
  assert.deepStrictEqual(reported, [{ count: 1, highestMs: 1000, name: "b" }]);
});

Deno.test("createLagReporter() logs the late runs of a minute in one line, with the greatest lag", async () => {
  const { clock, reported, note } = start();
  note("a", 1500);
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
});

Deno.test("createLagReporter() leaks no timer once no run is late", async () => {
  const { clock, note } = start();
  note("a", 1500);
  note("a", 1500);
  await clock.advance(120_000);
  assert.strictEqual(clock.timers, 0);
});
