import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { ComparedWheel } from "../../testing/wheel_oracle.ts";
import { walkWheel } from "../../testing/wheel_walk.ts";
import { campaign } from "../../testing/seed.ts";

const MAX = Number.MAX_SAFE_INTEGER;

Deno.test("TimerWheel matches a sorted list, in small cases", () => {
  const far = fc.integer({ min: 0, max: 52 }).chain((bits) => fc.integer({ min: 0, max: 2 ** bits }));
  const distance = fc.oneof(fc.nat(3), fc.nat(130), fc.nat(10_000), far);
  const action = fc.oneof(
    { weight: 4, arbitrary: fc.record({ act: fc.constant("insert" as const), by: distance }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant("insert_late" as const), by: distance }) },
    { weight: 2, arbitrary: fc.record({ act: fc.constant("cancel" as const), by: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ act: fc.constant("advance" as const), by: distance }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant("advance_to_next" as const), by: fc.constant(0) }) },
  );
  const actions = fc.array(action, { maxLength: 60, size: "max" });
  fc.assert(
    fc.property(fc.oneof(fc.nat(200), fc.maxSafeNat()), actions, (start, list) => {
      const wheel = new ComparedWheel(start);
      for (const { act, by } of list) {
        if (act === "insert") wheel.insert(Math.min(MAX, wheel.tick + by));
        if (act === "insert_late") wheel.insert(Math.max(0, wheel.tick - by));
        if (act === "cancel" && wheel.size > 0) wheel.cancel(by % wheel.size);
        if (act === "advance") wheel.advance(Math.min(MAX, wheel.tick + by));
        if (act === "advance_to_next") wheel.advanceToNext();
      }
      while (wheel.size > 0) wheel.advanceToNext();
    }),
    { numRuns: campaign(1000) },
  );
});

Deno.test("TimerWheel matches a sorted list, over very many steps", async (t) => {
  // `scripts/soak_wheel.ts` walks further.
  for (const seed of [1, 2, 3, 4, 5]) {
    await t.step(`seed ${seed}`, () => {
      const steps = campaign(200_000, 4_000);
      const { inserted, expired, cancelled } = walkWheel(seed, steps);
      assert.ok(inserted > steps / 4 && expired > steps / 10 && cancelled > steps / 40);
    });
  }
});
