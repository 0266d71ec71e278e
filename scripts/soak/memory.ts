import { createSilentEngine } from "../../testing/silent_engine.ts";
import { transition } from "../../src/condition/transition.ts";
import { initialState } from "../../src/condition/condition_state.ts";
import { CONDITIONS, type ConditionState } from "../../src/domain/condition.ts";
import type { Store } from "../../src/domain/store.ts";
import { openStateRepository } from "../../src/state/state_repository.ts";
import { createLimiters } from "../../src/scheduler/run_checks.ts";
import { Scheduler } from "../../src/scheduler/scheduler.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { createFakeTargets } from "../../testing/fake_targets.ts";
import { askingCheck } from "./checks.ts";
import { judge, measure, SAMPLES } from "./samples.ts";
import { withPostgresStore, withRealStore } from "./store.ts";

export interface MemoryOptions {
  /** Results in the condition machine. */
  readonly steps: number;
  /** Runs of checks. */
  readonly runs: number;
}

const CHECKS = 100;

/**
 * Runs very many steps of the condition machine, and then very many runs through the whole loop, on a fake clock,
 * with a real state of each kind and targets that flap; prints the memory during it.
 *
 * @throws {Error} If the memory in use grows after the first fifth.
 */
export async function soakMemory({ steps, runs }: MemoryOptions): Promise<void> {
  await followMemory(`${steps.toLocaleString("en")} steps of the condition machine`, soakSteps(steps));
  await withRealStore((store) => soakRuns(store, { database: "SQLite", runs }));
  await withPostgresStore((store) => soakRuns(store, { database: "PostgreSQL", runs }));
}

async function soakRuns(
  store: Store,
  { database, runs }: { readonly database: string; readonly runs: number },
): Promise<void> {
  const clock = createFakeClock(Date.UTC(2026, 0, 31));
  let count = 0;
  const repository = await openStateRepository({
    store,
    onFailure: (error) => {
      if (error !== null) throw error;
    },
    reopen: (error) => Promise.reject(error),
  });
  const scheduler = new Scheduler({ checks: flappingChecks(), directory: "/", redact: (text) => text }, {
    system: createFakeTargets(clock, (_target, nowMs) => ({
      status: Math.floor(nowMs / 10_000) % 2 === 0 ? 200 : 500,
      afterMs: 20,
    })),
    jobs: null,
    repository,
    limiters: createLimiters(),
    engine: createSilentEngine(repository),
    onEvent: ({ event }) => void (count += event === "result" ? 1 : 0),
    onBug: (error) => {
      throw error;
    },
  });
  const passes = async function* (): AsyncGenerator<void> {
    for (let sample = 1; sample <= SAMPLES; sample++) {
      while (count < runs * sample / SAMPLES) {
        await clock.advance(1000);
        // A server takes real time.
        await repository.flush();
      }
      yield;
    }
  };
  await followMemory(`${runs.toLocaleString("en")} runs of ${CHECKS} checks, ${database}`, passes());
  const stopped = scheduler.stop(0);
  await clock.advance(1);
  await stopped;
}

async function* soakSteps(steps: number): AsyncGenerator<void> {
  const policies = [1, 2, 3, 5].map((threshold) => ({
    flapping: "once" as const,
    threshold,
    recoveryThreshold: 6 - threshold,
    reminders: threshold > 2,
  }));
  const states: ConditionState[] = Array.from({ length: 1000 }, initialState);
  let random = 12_345;
  let step = 0;
  for (let sample = 1; sample <= SAMPLES; sample++) {
    for (; step < steps * sample / SAMPLES; step++) {
      random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
      const index = step % states.length;
      const policy = policies[index % policies.length];
      const condition = CONDITIONS[random >>> 30];
      const state = states[index];
      if (policy === undefined || condition === undefined || state === undefined) continue;
      states[index] = transition(policy, state, { condition, suppressedBy: null, nowMs: step }).state;
    }
    yield;
  }
}

async function followMemory(what: string, work: AsyncGenerator<void>): Promise<void> {
  const samples = [measure()];
  for await (const _part of work) samples.push(measure());
  const failure = judge(what, samples);
  if (failure !== null) throw new Error(failure);
}

function flappingChecks(): readonly ReturnType<typeof askingCheck>[] {
  return Array.from(
    { length: CHECKS },
    (_, index) => askingCheck("http://flapping/", { name: `check ${index}`, intervalMs: 1000 }),
  );
}
