import assert from "node:assert/strict";
import { createStandstillWatch, type StandstillWatch } from "../../src/scheduler/stall.ts";
import { createFakeClock, type FakeClock } from "../support/fake_clock.ts";

function start(): { clock: FakeClock; standstill: StandstillWatch; stay: (isBusy: boolean) => void } {
  const clock = createFakeClock();
  let isBusy = true;
  const standstill = createStandstillWatch({ clock, after: clock.after, isBusy: () => isBusy });
  return { clock, standstill, stay: (next) => void (isBusy = next) };
}

Deno.test("takeMs() answers for how long the process stood still, once", async () => {
  const { clock, standstill } = start();
  standstill.start();
  await clock.advance(5_500);
  assert.strictEqual(standstill.takeMs(), 0);
  clock.freeze(10_000);
  assert.strictEqual(standstill.takeMs(), 9_500, "counted from the look that did not come");
  assert.strictEqual(standstill.takeMs(), 0);
  await clock.advance(10_000);
  assert.strictEqual(standstill.takeMs(), 0);
});

Deno.test("takeMs() takes a busy machine for no standstill", async () => {
  const { clock, standstill } = start();
  standstill.start();
  for (let round = 0; round < 20; round++) {
    clock.freeze(1_900);
    assert.strictEqual(standstill.takeMs(), 0);
    await clock.advance(1000);
  }
});

Deno.test("start() looks until nothing is under way any more, and one look at a time", async () => {
  const { clock, standstill, stay } = start();
  standstill.start();
  standstill.start();
  assert.strictEqual(clock.timers, 1);
  await clock.advance(10_000);
  assert.strictEqual(clock.timers, 1);
  stay(false);
  await clock.advance(1000);
  assert.strictEqual(clock.timers, 0);
  clock.freeze(60_000);
  assert.strictEqual(standstill.takeMs(), 0, "nothing was under way");
  stay(true);
  standstill.start();
  assert.strictEqual(clock.timers, 1);
});
