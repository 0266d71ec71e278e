import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { createLimiter } from "../../src/scheduler/run_checks.ts";
import { campaign } from "../../testing/seed.ts";

Deno.test("createLimiter() releases its slot if a task throws before its first await", async () => {
  const limiter = createLimiter(1);
  const failing = limiter(() => {
    throw new Error("broken");
  }, never());
  const next = limiter(() => Promise.resolve("next"), never());
  await assert.rejects(failing, { message: "broken" });
  assert.equal(await next, "next");
});

Deno.test("createLimiter() keeps limit and order after any aborts", async () => {
  const step = fc.record({
    turns: fc.nat(6),
    fails: fc.boolean(),
    signal: fc.nat(3),
    pause: fc.nat(3),
    abort: fc.option(fc.nat(3), { freq: 8 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(step, { maxLength: 40, size: "max" }),
      async (limit, steps) => {
        const limiter = createLimiter(limit);
        const controllers = Array.from({ length: 4 }, () => new AbortController());
        const started: number[] = [];
        let running = 0;
        const ends: Promise<unknown>[] = [];
        for (const [index, { turns: length, fails, signal, pause, abort }] of steps.entries()) {
          const controller = controllers[signal] as AbortController;
          const task = async () => {
            started.push(index);
            assert.equal(controller.signal.aborted, false);
            assert.ok(++running <= limit);
            await turns(length);
            running--;
            if (fails) throw new Error("broken");
            return index;
          };
          ends.push(
            limiter(task, controller.signal).catch((error: unknown) => {
              if (error instanceof Error && error.message === "broken") return index;
              // A task that never started was called off, and one that did was not.
              assert.equal(error, "called off");
              assert.ok(!started.includes(index));
              return null;
            }),
          );
          if (abort !== null) controllers[abort]?.abort("called off");
          await turns(pause);
        }
        const answers = await Promise.all(ends);
        assert.deepEqual(started, answers.filter((answer) => answer !== null));
        // Every slot is free again.
        let free = 0;
        const others = Array.from(
          { length: limit + 1 },
          () => limiter(() => Promise.resolve(free++), never()),
        );
        assert.equal(free, limit);
        await Promise.all(others);
      },
    ),
    { numRuns: campaign(500) },
  );
});

/** A signal that never aborts. */
function never(): AbortSignal {
  return new AbortController().signal;
}

/** Yields to everything else that is ready, so many times. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await null;
}
