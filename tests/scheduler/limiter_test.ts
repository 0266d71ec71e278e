import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { createLimiter } from "../../src/scheduler/run_checks.ts";
import { campaign } from "../../testing/seed.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { Result } from "../../src/domain/check.ts";
import { StallSafeRuns } from "../../src/scheduler/stall_safe.ts";
import { testCheck } from "../support/checks.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { testRows } from "../support/rows.ts";

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

const RUN_MS = 4_000;

const SCENARIOS = {
  "nothing happened": ["critical", () => {}, 1, RUN_MS],
  "it stalled and the result was ok": ["ok", (clock) => clock.freeze(600_000), 1, RUN_MS + 600_000],
  "it stalled": ["unknown", (clock) => clock.freeze(600_000), 2, 600_000 + 2 * RUN_MS + 1_000],
  "the machine was busy": ["critical", (clock) => clock.freeze(1_500), 1, RUN_MS + 1_500],
  "the system was suspended": ["critical", (clock) => clock.stepWall(600_000), 2, 2 * RUN_MS + 10_000],
  "the clock was set back": ["critical", (clock) => clock.stepWall(-600_000), 2, 2 * RUN_MS + 10_000],
  "the clock was set a little": ["critical", (clock) => clock.stepWall(4_000), 1, RUN_MS],
} as const satisfies Readonly<
  Record<
    string,
    readonly [condition: Condition, disturb: (clock: FakeClock) => void, runs: number, endMs: number]
  >
>;

Deno.test("run() discards a failure if the process stalled or the system was suspended", async (t) => {
  await testRows(t, SCENARIOS, async ([condition, disturb, expected, endMs]) => {
    const clock = createFakeClock();
    const runs = new StallSafeRuns(clock);
    let count = 0;
    const observe = async (): Promise<Result> => {
      const shown = count++ === 0 ? condition : "ok";
      await new Promise<void>((resolve) => void clock.after(RUN_MS, resolve));
      return resultOf(shown);
    };
    const running = runs.run(observe, { signal: new AbortController().signal });
    await clock.advance(RUN_MS / 2);
    disturb(clock);
    await clock.advance(Math.max(0, endMs - clock.monotonicMs()));
    const result = await Promise.race([running, Promise.resolve("not yet")]);
    assert.notEqual(result, "not yet");
    assert.equal((result as Result).condition, expected === 2 ? "ok" : condition);
    assert.equal(count, expected);
    runs.end();
    assert.equal(clock.timers, 0);
  });
});

Deno.test("run() always counts the second run, so that a machine that often stalls hides no failure", async () => {
  const clock = createFakeClock();
  const runs = new StallSafeRuns(clock);
  const running = runs.run(async () => {
    await new Promise<void>((resolve) => void clock.after(RUN_MS, resolve));
    return resultOf("critical");
  }, { signal: new AbortController().signal });
  for (let round = 0; round < 2; round++) {
    await clock.advance(RUN_MS / 2);
    clock.freeze(60_000);
    await clock.advance(1_000);
  }
  await clock.advance(RUN_MS);
  assert.equal((await running).condition, "critical");
  runs.end();
});

Deno.test("run() throws the reason of a signal that aborts before the second run", async () => {
  const clock = createFakeClock();
  const runs = new StallSafeRuns(clock);
  const abort = new AbortController();
  const running = runs.run(() => {
    clock.stepWall(60_000);
    return Promise.resolve(resultOf("critical"));
  }, abort);
  await clock.advance(5_000);
  abort.abort(new Error("Stopped"));
  await assert.rejects(running, /^Error: Stopped$/);
  runs.end();
  assert.equal(clock.timers, 0);
});

function resultOf(condition: Condition): Result {
  return {
    check: testCheck("ok"),
    condition,
    output: "",
    detail: "",
    performanceData: "",
    metrics: {},
    startedAtMs: 0,
    durationMs: 0,
  };
}
