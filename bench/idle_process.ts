/**
 * Schedules checks an hour apart in a separate process for some seconds, or only sleeps, and prints the cost.
 *
 *     deno run --allow-all bench/idle_process.ts '{"checks":"hourly","seconds":10}'
 */
import { createRealClock } from "../testing/real_clock.ts";
import process from "node:process";
import type { Check } from "../src/domain/check.ts";
import type { Store } from "../src/domain/store.ts";
import { openStateRepository, type StateRepository } from "../src/state/state_repository.ts";
import { createLimiters } from "../src/scheduler/run_checks.ts";
import { nextAtOffset, splayOf } from "../src/scheduler/next_run.ts";
import { createStores } from "../src/state/open_stores.ts";
import { createSystem } from "../src/system/deno_system.ts";
import { Scheduler } from "../src/scheduler/scheduler.ts";
import { steadyCheck } from "../scripts/soak/checks.ts";
import { createSilentEngine } from "../testing/silent_engine.ts";
import { withRealStore } from "../scripts/soak/store.ts";
import { askModule } from "./children.ts";
import { HOUR_MS } from "../src/shared/time_units.ts";

/** The scheduled checks. */
export interface IdleSubject {
  /** `none`: the process only sleeps. */
  readonly checks: "none" | "hourly";
  /** For how long, once everything has begun. */
  readonly seconds: number;
}

/** The measured cost. */
export interface IdleSample {
  /** User and system time of those seconds. */
  readonly cpuMs: number;
  /** The runs in those seconds. */
  readonly runs: number;
}

const COUNT = 1000;
/** Some time after its last work the runtime tidies its heap, once. */
const BEGIN_SECONDS = 30;

/** Measures in a separate process. */
export async function measureIdle(subject: IdleSubject): Promise<IdleSample> {
  return JSON.parse(await askModule(import.meta.filename, [JSON.stringify(subject)]));
}

async function idle({ checks, seconds }: IdleSubject): Promise<IdleSample> {
  if (checks === "hourly") return await withRealStore((store) => service(store, seconds));
  await sleep(BEGIN_SECONDS);
  return await measure(seconds, () => 0);
}

async function service(store: Store, seconds: number): Promise<IdleSample> {
  let runs = 0;
  const fail = (error: unknown): never => {
    throw error;
  };
  const repository = await openStateRepository({
    store,
    onFailure: (error) => {
      if (error !== null) fail(error);
    },
    reopen: fail,
  });
  const checks = Array.from(
    { length: COUNT },
    (_, index) => steadyCheck({ name: `check ${index}`, intervalMs: HOUR_MS }),
  );
  for (const check of checks) recordRun(repository, check);
  const scheduler = new Scheduler({ checks, directory: "/", redact: (text) => text }, {
    system: createSystem(createRealClock(), { createStores }),
    jobs: null,
    repository,
    limiters: createLimiters(),
    engine: createSilentEngine(repository),
    onEvent: (event) => {
      if (event.event !== "result") return;
      runs++;
      if (event.result.condition !== "ok") fail(new Error(`a check said "${event.result.output}"`));
    },
    onBug: fail,
  });
  await sleep(BEGIN_SECONDS);
  const sample = await measure(seconds, () => runs);
  await scheduler.stop(0);
  return sample;
}

/** A run of before, so that the checks are spread over the hour as they are after some hours. */
function recordRun(repository: StateRepository, check: Check): void {
  const nowMs = Date.now();
  const observed = { condition: "ok", output: "", detail: "", metrics: {}, performanceData: "" } as const;
  createSilentEngine(repository).record({
    result: { ...observed, check, startedAtMs: nowMs, durationMs: 1 },
    plan: () => ({
      atMs: nextAtOffset(nowMs, HOUR_MS, splayOf(check.name)),
      overdueAtMs: nowMs + 3 * HOUR_MS,
      missed: 0,
    }),
  }, nowMs);
}

async function measure(seconds: number, runs: () => number): Promise<IdleSample> {
  const before = { cpuMs: cpuMs(), runs: runs() };
  await sleep(seconds);
  return { cpuMs: cpuMs() - before.cpuMs, runs: runs() - before.runs };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function sleep(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}

if (import.meta.main) {
  const [subject = ""] = Deno.args;
  console.log(JSON.stringify(await idle(JSON.parse(subject))));
  Deno.exit(0);
}
