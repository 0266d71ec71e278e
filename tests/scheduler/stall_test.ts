import assert from "node:assert/strict";
import { StallDetector } from "../../src/scheduler/stall_safe.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";

function start(): { clock: FakeClock; detector: StallDetector; stay: (isBusy: boolean) => void } {
  const clock = createFakeClock();
  let isBusy = true;
  const detector = new StallDetector(clock, () => isBusy);
  detector.start();
  return { clock, detector, stay: (next) => void (isBusy = next) };
}

Deno.test("stalledMs counts how long the process stalled, once", async () => {
  const { clock, detector } = start();
  await clock.advance(5_500);
  assert.strictEqual(detector.stalledMs, 0);
  clock.freeze(10_000);
  assert.strictEqual(detector.stalledMs, 9_500, "counted from the look that was due");
  assert.strictEqual(detector.stalledMs, 9_500);
  await clock.advance(10_000);
  assert.strictEqual(detector.stalledMs, 9_500);
});

Deno.test("stalledMs counts a stall that only the overdue timer reveals", async () => {
  const { clock, detector } = start();
  await clock.advance(5_500);
  clock.freeze(10_000);
  await clock.advance(5_000);
  assert.strictEqual(detector.stalledMs, 9_500);
});

Deno.test("stalledMs does not count a busy machine", async () => {
  const { clock, detector } = start();
  for (let round = 0; round < 20; round++) {
    clock.freeze(1_900);
    assert.strictEqual(detector.stalledMs, 0);
    await clock.advance(1000);
  }
});

Deno.test("start() samples the clocks until no run is in progress, with one timer", async () => {
  const { clock, detector, stay } = start();
  detector.start();
  assert.strictEqual(clock.timers, 1);
  await clock.advance(10_000);
  assert.strictEqual(clock.timers, 1);
  stay(false);
  await clock.advance(1000);
  assert.strictEqual(clock.timers, 0);
  clock.freeze(60_000);
  assert.strictEqual(detector.stalledMs, 0, "no run was in progress");
  stay(true);
  detector.start();
  assert.strictEqual(clock.timers, 1);
  detector.end();
  assert.strictEqual(clock.timers, 0);
});
