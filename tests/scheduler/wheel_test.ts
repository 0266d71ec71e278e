import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { TimerWheel } from "../../src/scheduler/wheel.ts";
import type { TimerHandle } from "../../src/scheduler/timer_table.ts";
import { ComparedWheel } from "../../testing/wheel_oracle.ts";
import { walkWheel } from "../../testing/wheel_walk.ts";
import { campaign } from "../../testing/seed.ts";

const MAX = Number.MAX_SAFE_INTEGER;
const YEAR_MS = 365 * 24 * 3600 * 1000;

Deno.test("advance() fires timers due in one tick in insertion order", async (t) => {
  await t.step("inserted from the same tick", () => {
    const wheel = new TimerWheel<string>();
    for (const name of ["a", "b", "c"]) wheel.insert(5, name);
    assert.deepEqual(wheel.advance(5), ["a", "b", "c"]);
  });
  await t.step("inserted at different levels, as the tick approached", () => {
    const wheel = new TimerWheel<string>();
    const tick = 3 * 64 ** 3 + 2 * 64 ** 2 + 64 + 7;
    wheel.insert(tick, "from level 3");
    wheel.advance(3 * 64 ** 3);
    wheel.insert(tick, "from level 2");
    wheel.advance(3 * 64 ** 3 + 2 * 64 ** 2);
    wheel.insert(tick, "from level 1");
    wheel.advance(tick - 1);
    wheel.insert(tick, "from level 0");
    assert.deepEqual(wheel.advance(tick), ["from level 3", "from level 2", "from level 1", "from level 0"]);
  });
  await t.step("mixed with others in the same slot", () => {
    const wheel = new TimerWheel<string>();
    for (const [tick, name] of [[130, "a"], [129, "b"], [130, "c"], [129, "d"], [131, "e"]] as const) {
      wheel.insert(tick, name);
    }
    assert.deepEqual(wheel.advance(200), ["b", "d", "a", "c", "e"]);
  });
});

Deno.test("advance() fires each timer at its tick and not before", async (t) => {
  const delays = [
    1,
    62,
    63,
    64,
    65,
    4095,
    4096,
    4097,
    64 ** 3,
    64 ** 5 - 1,
    64 ** 5,
    64 ** 5 + 1,
    64 ** 6,
    64 ** 8,
  ];
  const starts = [0, 1, 63, 64, 4095, 2 ** 30 - 1, 2 ** 30, 2 ** 31 - 1, 2 ** 32, 64 ** 7 + 12_345];
  for (const start of starts) {
    await t.step(`from tick ${start}`, () => {
      for (const delay of [...delays, 100 * YEAR_MS, MAX - start]) {
        const wheel = new TimerWheel<string>(start);
        wheel.insert(start + delay, "timer");
        assert.equal(wheel.nextDeadline(), start + delay);
        assert.deepEqual(wheel.advance(start + delay - 1), []);
        assert.equal(wheel.nextDeadline(), start + delay);
        assert.deepEqual(wheel.advance(start + delay), ["timer"]);
        assert.equal(wheel.nextDeadline(), null);
        assert.equal(wheel.tick, start + delay);
      }
    });
  }
});

Deno.test("advance() jumps over any distance", async (t) => {
  await t.step("and returns everything in order", () => {
    const wheel = new TimerWheel<number>(1000);
    const deadlines = [5 * YEAR_MS, 1001, 90_000, 2 * YEAR_MS, 1002, 70_000_000, 300 * YEAR_MS];
    for (const deadline of deadlines) wheel.insert(deadline, deadline);
    assert.deepEqual(wheel.advance(10 * YEAR_MS), [1001, 1002, 90_000, 70_000_000, 2 * YEAR_MS, 5 * YEAR_MS]);
    assert.equal(wheel.size, 1);
    assert.deepEqual(wheel.advance(MAX), [300 * YEAR_MS]);
  });
  await t.step("empty", () => {
    const wheel = new TimerWheel<number>();
    assert.deepEqual(wheel.advance(MAX), []);
    wheel.insert(MAX, 1);
    assert.deepEqual(wheel.advance(MAX), [1]);
  });
  await t.step("and timers inserted afterwards are counted from there", () => {
    const wheel = new TimerWheel<string>();
    wheel.advance(7 * YEAR_MS);
    wheel.insert(7 * YEAR_MS + 2, "later");
    wheel.insert(7 * YEAR_MS + 1, "soon");
    assert.deepEqual(wheel.advance(7 * YEAR_MS + 1), ["soon"]);
    assert.deepEqual(wheel.advance(7 * YEAR_MS + 2), ["later"]);
  });
});

Deno.test("insert() treats a deadline in the past as due now", async (t) => {
  const table = [
    { name: "the current tick", deadline: 100 },
    { name: "an earlier tick", deadline: 99 },
    { name: "a much earlier tick", deadline: 0 },
  ];
  for (const { name, deadline } of table) {
    await t.step(name, () => {
      const wheel = new TimerWheel<string>();
      wheel.advance(100);
      wheel.insert(101, "next");
      wheel.insert(100, "first");
      wheel.insert(deadline, "second");
      assert.equal(wheel.nextDeadline(), 100);
      assert.deepEqual(wheel.advance(100), ["first", "second"]);
      assert.equal(wheel.nextDeadline(), 101);
    });
  }
});

Deno.test("cancel() removes a timer once", async (t) => {
  await t.step("from any place of its slot", () => {
    for (const gone of [0, 1, 2]) {
      const wheel = new TimerWheel<number>();
      const handles = [0, 1, 2].map((payload) => wheel.insert(500, payload));
      assert.equal(wheel.cancel(handles[gone] as TimerHandle), true);
      assert.equal(wheel.cancel(handles[gone] as TimerHandle), false);
      assert.equal(wheel.size, 2);
      assert.deepEqual(wheel.advance(500), [0, 1, 2].filter((payload) => payload !== gone));
    }
  });
  await t.step("the last one of the wheel", () => {
    const wheel = new TimerWheel<number>();
    const handle = wheel.insert(5000, 1);
    assert.equal(wheel.cancel(handle), true);
    assert.equal(wheel.nextDeadline(), null);
    assert.equal(wheel.size, 0);
    assert.deepEqual(wheel.advance(MAX), []);
  });
  await t.step("not one that expired", () => {
    const wheel = new TimerWheel<number>();
    const handle = wheel.insert(5, 1);
    wheel.advance(5);
    assert.equal(wheel.cancel(handle), false);
  });
  await t.step("not another one at the same index", () => {
    const wheel = new TimerWheel<string>();
    const first = wheel.insert(5, "first");
    wheel.cancel(first);
    const second = wheel.insert(5, "second");
    assert.notEqual(second, first);
    assert.equal(wheel.cancel(first), false);
    assert.deepEqual(wheel.advance(5), ["second"]);
  });
  await t.step("not with a handle that names nothing", () => {
    const wheel = new TimerWheel<string>();
    wheel.insert(5, "timer");
    for (const handle of [0, 1, -1, 575, 577, 2 ** 24, 0.5, Number.NaN, MAX]) {
      assert.equal(wheel.cancel(handle as TimerHandle), false);
    }
    assert.equal(wheel.size, 1);
  });
});

Deno.test("nextDeadline() returns the next deadline", async (t) => {
  await t.step("empty", () => assert.equal(new TimerWheel().nextDeadline(), null));
  await t.step("the earliest of many in one far slot", () => {
    const wheel = new TimerWheel<number>();
    for (const deadline of [5_000_000, 4_999_999, 5_000_001]) wheel.insert(deadline, deadline);
    assert.equal(wheel.nextDeadline(), 4_999_999);
  });
  await t.step("too early once, after the earliest of a far slot was cancelled", () => {
    const wheel = new TimerWheel<number>();
    const handle = wheel.insert(5000, 1);
    wheel.insert(5001, 2);
    wheel.cancel(handle);
    assert.equal(wheel.nextDeadline(), 5000);
    assert.deepEqual(wheel.advance(5000), []);
    assert.equal(wheel.nextDeadline(), 5001);
  });
  await t.step("exactly, after a slot was emptied and filled again", () => {
    const wheel = new TimerWheel<number>();
    wheel.cancel(wheel.insert(5000, 1));
    wheel.insert(5001, 2);
    assert.equal(wheel.nextDeadline(), 5001);
  });
  await t.step("one wake for each timer when none is cancelled", () => {
    const wheel = new TimerWheel<number>();
    const deadlines = Array.from({ length: 500 }, (_, i) => 1 + i * i * 977);
    for (const deadline of deadlines) wheel.insert(deadline, deadline);
    const wakes: number[] = [];
    for (let next = wheel.nextDeadline(); next !== null; next = wheel.nextDeadline()) {
      wakes.push(next);
      assert.deepEqual(wheel.advance(next), [next]);
    }
    assert.deepEqual(wakes, deadlines);
  });
});

Deno.test("TimerWheel keeps payloads of any kind and any number of timers", async (t) => {
  await t.step("undefined and null", () => {
    const wheel = new TimerWheel<null | undefined>();
    wheel.insert(1, undefined);
    wheel.insert(2, null);
    assert.deepEqual(wheel.advance(2), [undefined, null]);
  });
  await t.step("50,000 timers, twice", () => {
    const wheel = new TimerWheel<number>();
    for (const round of [0, 1]) {
      const start = wheel.tick;
      const deadlines = Array.from({ length: 50_000 }, (_, i) => start + 1 + (i * 7919) % 100_003);
      for (const deadline of deadlines) wheel.insert(deadline, deadline);
      assert.equal(wheel.size, 50_000, `round ${round}`);
      assert.deepEqual(wheel.advance(start + 100_003), deadlines.toSorted((a, b) => a - b));
      assert.equal(wheel.size, 0);
    }
  });
});

Deno.test("TimerWheel rejects an invalid tick", async (t) => {
  const rule = "a tick is a safe integer of 0 or more";
  const wheel = new TimerWheel<string>(10);
  const table: readonly { name: string; act: () => void; message: string }[] = [
    {
      name: "a fraction",
      act: () => wheel.insert(1.5, ""),
      message: `cannot insert a timer at tick "1.5": ${rule}`,
    },
    {
      name: "no number",
      act: () => wheel.insert(Number.NaN, ""),
      message: `cannot insert a timer at tick "NaN": ${rule}`,
    },
    {
      name: "never",
      act: () => wheel.insert(Infinity, ""),
      message: `cannot insert a timer at tick "Infinity": ${rule}`,
    },
    {
      name: "a negative start",
      act: () => new TimerWheel(-1),
      message: `cannot start the wheel at tick "-1": ${rule}`,
    },
    {
      name: "an unsafe integer",
      act: () => wheel.advance(2 ** 53),
      message: `cannot advance the wheel to tick "9007199254740992": ${rule}`,
    },
    {
      name: "going back",
      act: () => wheel.advance(9),
      message: `cannot advance the wheel to tick "9": it is at 10 and never goes back`,
    },
  ];
  for (const { name, act, message } of table) {
    await t.step(name, () => {
      assert.throws(act, { name: "RangeError", message });
      assert.equal(wheel.tick, 10);
      assert.equal(wheel.size, 0);
    });
  }
});

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

Deno.test("TimerWheel matches a sorted list, over a million steps", async (t) => {
  // `scripts/soak_wheel.ts` walks further.
  for (const seed of [1, 2, 3, 4, 5]) {
    await t.step(`seed ${seed}`, () => {
      const { inserted, expired, cancelled } = walkWheel(seed, 200_000);
      assert.ok(inserted > 50_000 && expired > 20_000 && cancelled > 5_000);
    });
  }
});
