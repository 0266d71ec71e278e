import assert from "node:assert/strict";
import type { Condition } from "../../src/domain/condition.ts";
import type { Result } from "../../src/domain/check.ts";
import { StallSafeRuns } from "../../src/scheduler/stall_safe.ts";
import { testCheck } from "../support/checks.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { testRows } from "../support/rows.ts";

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
