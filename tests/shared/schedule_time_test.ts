import assert from "node:assert/strict";
import { createScheduleTime } from "../../src/shared/local_time.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { testRows } from "../support/rows.ts";

const NOW = Date.UTC(2026, 0, 31, 10);

Deno.test("createScheduleTime() follows the monotonic clock, whatever the wall clock does", async () => {
  const clock = createFakeClock(NOW);
  const time = createScheduleTime(clock);
  await clock.advance(1500);
  clock.stepWall(3_600_000);
  assert.strictEqual(time.nowMs(), NOW + 1500);
});

Deno.test("catchUp() returns the step of the wall clock once", async (t) => {
  const rows = {
    "not at all": { stepMs: 0, expected: 0 },
    "a little ahead": { stepMs: 100, expected: 0 },
    "a little back": { stepMs: -100, expected: 0 },
    "ahead": { stepMs: 101, expected: 101 },
    "back": { stepMs: -7_200_000, expected: -7_200_000 },
  };
  await testRows(t, rows, ({ stepMs, expected }) => {
    const clock = createFakeClock(NOW);
    const time = createScheduleTime(clock);
    clock.stepWall(stepMs);
    assert.strictEqual(time.catchUp(), expected);
    assert.strictEqual(time.nowMs(), NOW + expected);
    assert.strictEqual(time.catchUp(), 0);
  });
});

Deno.test("catchUp() adds up steps that are too small by themselves", () => {
  const clock = createFakeClock(NOW);
  const time = createScheduleTime(clock);
  clock.stepWall(60);
  assert.strictEqual(time.catchUp(), 0);
  clock.stepWall(60);
  assert.strictEqual(time.catchUp(), 120);
});
