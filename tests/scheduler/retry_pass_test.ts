import assert from "node:assert/strict";
import type { Check } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import { runRetryPass } from "../../src/scheduler/retry_pass.ts";
import { createLimiters } from "../../src/scheduler/run_checks.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { createProgramSystem, programCheck } from "../support/fake_commands.ts";

/** The time of each run of a check, and the returned results, in seconds. */
interface Course {
  readonly runs: Readonly<Record<string, readonly number[]>>;
  readonly results: readonly string[];
  readonly retries: readonly string[];
  readonly unfinished: readonly string[];
}

/** Retries checks; each run takes one second, and returns the next result of its check. */
async function retry(
  conditions: Readonly<Record<string, readonly Condition[]>>,
  { stopAtMs = Infinity, forMs = 10_000 } = {},
): Promise<Course> {
  const clock = createFakeClock(0);
  const runs: Record<string, number[]> = {};
  const system = createProgramSystem(clock, (name) => {
    const known = conditions[name] ?? [];
    const condition = known[Math.min(runs[name]?.length ?? 0, known.length - 1)] ?? "ok";
    (runs[name] ??= []).push(clock.monotonicMs() / 1000);
    return { condition, afterMs: 1000 };
  });
  const results: string[] = [];
  const retries: string[] = [];
  const stop = new AbortController();
  const names = (checks: readonly Check[]): readonly string[] => checks.map(({ name }) => name);
  const pass = runRetryPass(Object.keys(conditions).map((name) => programCheck({ name })), {
    system,
    jobs: null,
    directory: "/",
    limiters: createLimiters(),
    signal: stop.signal,
    redact: (text) => text,
    onResult: ({ check, condition }) =>
      results.push(`${clock.monotonicMs() / 1000} ${check.name} ${condition}`),
  }, {
    forMs,
    isFailure: (condition) => condition !== "ok",
    onRetry: (checks, leftMs) => retries.push(`${names(checks)} ${leftMs / 1000}`),
  });
  if (stopAtMs < Infinity) {
    await clock.advance(stopAtMs);
    stop.abort(new Error("stopped"));
  }
  await clock.advance(60_000);
  const unfinished = names(await pass);
  assert.strictEqual(clock.timers, 0);
  return { runs, results, retries, unfinished };
}

Deno.test("runRetryPass() retries failures, and returns only the last result of each check", async () => {
  assert.deepStrictEqual(await retry({ a: ["ok"], b: ["critical", "warning", "ok"] }), {
    runs: { a: [0], b: [0, 3, 6] },
    results: ["1 a ok", "7 b ok"],
    retries: ["b 7", "b 4"],
    unfinished: [],
  });
});

Deno.test("runRetryPass() starts the last run when the time is over, and returns its failure", async () => {
  assert.deepStrictEqual(await retry({ a: ["critical"], b: ["unknown", "ok"] }), {
    runs: { a: [0, 3, 6, 9], b: [0, 3] },
    results: ["4 b ok", "10 a critical"],
    retries: ["a,b 7", "a 4", "a 1"],
    unfinished: [],
  });
});

Deno.test("runRetryPass() shortens the last pause to the time that is left", async () => {
  const { runs, retries } = await retry({ a: ["critical"] }, { forMs: 2_500 });
  assert.deepStrictEqual([runs, retries], [{ a: [0, 2.5] }, ["a 0"]]);
});

Deno.test("runRetryPass() passes on earlier results if it is stopped, in a pause or in a run", async () => {
  const paused = await retry({ a: ["critical"], b: ["ok"] }, { stopAtMs: 2000 });
  assert.deepStrictEqual([paused.results, paused.unfinished], [["1 b ok", "2 a critical"], []]);
  const running = await retry({ a: ["critical"] }, { stopAtMs: 3500 });
  assert.deepStrictEqual([running.results, running.unfinished], [["3.5 a critical"], []]);
  const first = await retry({ a: ["critical"] }, { stopAtMs: 500 });
  assert.deepStrictEqual([first.results, first.unfinished], [[], ["a"]]);
});
