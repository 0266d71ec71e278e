import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { createLimiter } from "../../src/scheduler/limiter.ts";
import { campaign } from "../../testing/seed.ts";

Deno.test("run() releases its slot if a task throws before its first await", async () => {
  const limiter = createLimiter(1);
  const failing = limiter.run(() => {
    throw new Error("broken");
  }, never());
  const next = limiter.run(() => Promise.resolve("next"), never());
  await assert.rejects(failing, { message: "broken" });
  assert.equal(await next, "next");
});

Deno.test("run() throws the signal's reason for a task that was aborted beforehand", async () => {
  const limiter = createLimiter(1);
  const reason = new Error("called off");
  const answer = limiter.run(() => assert.fail("started"), AbortSignal.abort(reason));
  await assert.rejects(answer, (error) => error === reason);
  assert.equal(limiter.running, 0);
});

Deno.test("run() queues very many tasks", async (t) => {
  // With a slow implementation (shifting an array, a listener for each), either step takes minutes.
  const count = campaign(100_000);
  await t.step("that all throw at once", async () => {
    const limiter = createLimiter(1);
    const { signal } = new AbortController();
    const gate = Promise.withResolvers<void>();
    const first = limiter.run(() => gate.promise, signal);
    const tasks = Array.from({ length: count }, () =>
      limiter.run(() => {
        throw new Error("broken");
      }, signal));
    assert.equal(limiter.waiting, count);
    gate.resolve();
    await first;
    const ends = await Promise.allSettled(tasks);
    assert.ok(ends.every(({ status }) => status === "rejected"));
    assert.equal(limiter.running, 0);
  });
  await t.step("that all are aborted", async () => {
    const limiter = createLimiter(1);
    const gate = Promise.withResolvers<void>();
    const controller = new AbortController();
    const first = limiter.run(() => gate.promise, never());
    const tasks = Promise.allSettled(
      Array.from({ length: count }, () => limiter.run(() => assert.fail("started"), controller.signal)),
    );
    controller.abort("called off");
    assert.equal(limiter.waiting, 0);
    const ends = await tasks;
    assert.ok(ends.every(({ status }) => status === "rejected"));
    gate.resolve();
    await first;
  });
});

Deno.test("run() keeps limit and order after any aborts", async () => {
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
            limiter.run(task, controller.signal).catch((error: unknown) => {
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
        assert.equal(limiter.running, 0);
        assert.equal(limiter.waiting, 0);
      },
    ),
    { numRuns: campaign(500) },
  );
});

Deno.test("createLimiter() rejects an invalid limit", () => {
  for (const limit of [0, -1, 1.5, Number.NaN, Infinity]) {
    assert.throws(() => createLimiter(limit), {
      name: "RangeError",
      message: `Cannot limit tasks to "${limit}": a limit is a whole number of 1 or more`,
    });
  }
});

/** A signal that never aborts. */
function never(): AbortSignal {
  return new AbortController().signal;
}

/** Yields to everything else that is ready, so many times. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await null;
}
