import assert from "node:assert/strict";
import { createDriver } from "../../src/scheduler/driver.ts";
import { createFakeClock } from "../support/fake_clock.ts";

Deno.test("createDriver() calls back at the planned times, in order, with one real timer", async () => {
  const clock = createFakeClock();
  const seen: [string, number][] = [];
  const driver = createDriver<string>(clock, (names) => {
    for (const name of names) seen.push([name, clock.monotonicMs()]);
  });
  driver.schedule(500, "late");
  driver.schedule(100, "early");
  driver.schedule(100, "early too");
  driver.schedule(1e12, "in 30 years");
  assert.strictEqual(clock.timers, 1);
  await clock.advance(1000);
  assert.deepStrictEqual(seen, [["early", 100], ["early too", 100], ["late", 500]]);
  assert.strictEqual(clock.timers, 1);
});

Deno.test("createDriver() lets a callback add timers, also for now", async () => {
  const clock = createFakeClock();
  const seen: number[] = [];
  const driver = createDriver<number>(clock, ([count = 0]) => {
    seen.push(count);
    if (count < 3) driver.schedule(clock.monotonicMs(), count + 1);
  });
  driver.schedule(10, 1);
  await clock.advance(20);
  assert.deepStrictEqual(seen, [1, 2, 3]);
});

Deno.test("createDriver() cancels, stops, and leaves no timer behind", async () => {
  const clock = createFakeClock();
  const seen: string[] = [];
  const driver = createDriver<string>(clock, (names) => void seen.push(...names));
  const handle = driver.schedule(10, "cancelled");
  driver.schedule(20, "kept");
  driver.cancel(handle);
  await clock.advance(30);
  driver.schedule(100, "after the end");
  driver.stop();
  assert.strictEqual(clock.timers, 0);
  await clock.advance(200);
  assert.deepStrictEqual(seen, ["kept"]);
});

Deno.test("createDriver() goes on after a timer that fires early, as one clamped by the runtime does", async () => {
  const clock = createFakeClock();
  const clamped = {
    ...clock,
    after: (ms: number, callback: () => void) => clock.after(Math.min(ms, 50), callback),
  };
  const seen: number[] = [];
  const driver = createDriver<string>(clamped, () => void seen.push(clock.monotonicMs()));
  driver.schedule(180, "x");
  await clock.advance(1000);
  assert.deepStrictEqual(seen, [180]);
  driver.stop();
});
