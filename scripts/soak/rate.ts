import { createRealClock } from "../../testing/real_clock.ts";
import { createSilentEngine } from "../../testing/silent_engine.ts";
import { startServer } from "../../bench/server.ts";
import type { Check } from "../../src/domain/check.ts";
import { openStateRepository } from "../../src/state/state_repository.ts";
import { createLimiters } from "../../src/scheduler/run_checks.ts";
import { createStores } from "../../src/state/open_stores.ts";
import { createSystem } from "../../src/system/deno_system.ts";
import { Scheduler } from "../../src/scheduler/scheduler.ts";
import { askingCheck, steadyCheck } from "./checks.ts";
import { withRealStore } from "./store.ts";

export interface RateOptions {
  /** How long the runs are counted. */
  readonly seconds: number;
}

const CHECKS = 1000;
const HANGING = 50;
const INTERVAL_MS = 1_000;
/** The first runs come before the loop has its rhythm. */
const SETTLE_MS = 3_000;
const LATER_BY_MS_MAX = 50;

interface Lag {
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly highestMs: number;
}

/**
 * Runs 1,000 checks a second apart on the real clock and a real state, half of them requests to a server on loopback;
 * then the same alongside 50 targets that accept a connection and never respond.
 *
 * @throws {Error} If a check did not run in every second, or if the targets that hang delay the others.
 */
export async function soakRate({ seconds }: RateOptions): Promise<void> {
  await using server = await startServer();
  using silent = listenSilently();
  const checks = Array.from({ length: CHECKS }, (_, index) => {
    const options = { name: `check ${index}`, intervalMs: INTERVAL_MS };
    return index % 2 === 0 ? steadyCheck(options) : askingCheck(server.address, options);
  });
  const hanging = Array.from(
    { length: HANGING },
    (_, index) => askingCheck(silent.address, { name: `hanging ${index}`, intervalMs: INTERVAL_MS }),
  );
  const alone = await runAndCount(checks, seconds);
  console.log(`  ${CHECKS} checks: ${lagText(alone)}`);
  const alongside = await runAndCount([...checks, ...hanging], seconds);
  console.log(`  beside ${HANGING} targets that hang: ${lagText(alongside)}`);
  const laterByMs = alongside.p99Ms - alone.p99Ms;
  console.log(`  p99 later by ${laterByMs.toFixed(1)} ms`);
  if (laterByMs >= LATER_BY_MS_MAX) {
    throw new Error(`The targets that hang hold up the others by ${laterByMs.toFixed(1)} ms`);
  }
}

/** Runs checks, and returns the lag of the runs whose target does not hang. */
async function runAndCount(checks: readonly Check[], seconds: number): Promise<Lag> {
  return await withRealStore(async (store) => {
    const system = createSystem(createRealClock(), { createStores });
    const latenesses: number[] = [];
    const counts = new Map<string, number>();
    const fromMs = Date.now() + SETTLE_MS;
    const untilMs = fromMs + seconds * 1000;
    const { promise: broken, reject } = Promise.withResolvers<never>();
    const repository = await openStateRepository({
      store,
      onFailure: (error) => error && reject(error),
      reopen: (error) => Promise.reject(error),
    });
    const scheduler = new Scheduler({ checks, directory: "/", redact: (text) => text }, {
      system,
      jobs: null,
      repository,
      limiters: createLimiters(),
      engine: createSilentEngine(repository),
      onEvent: (event) => {
        if (event.event !== "result") return;
        const { result: { check, condition, output, startedAtMs }, lateMs } = event;
        if (check.name.startsWith("hanging")) return;
        if (condition !== "ok") reject(new Error(`${check.name} said "${output}"`));
        // By the plan: a run that is late still belongs to its second.
        const plannedMs = startedAtMs - lateMs;
        if (plannedMs < fromMs || plannedMs >= untilMs) return;
        latenesses.push(lateMs);
        counts.set(check.name, (counts.get(check.name) ?? 0) + 1);
      },
      onBug: reject,
    });
    await Promise.race([broken, new Promise((resolve) => setTimeout(resolve, untilMs - Date.now() + 1000))]);
    await scheduler.stop(0);
    for (const { name } of checks) {
      if (name.startsWith("hanging")) continue;
      const count = counts.get(name) ?? 0;
      if (Math.abs(count - seconds) > 1) throw new Error(`${name} ran ${count} times in ${seconds} s`);
    }
    return describeLag(latenesses);
  });
}

function describeLag(latenesses: readonly number[]): Lag {
  const sorted = latenesses.toSorted((one, other) => one - other);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
  return { medianMs: at(0.5), p99Ms: at(0.99), highestMs: at(1) };
}

function lagText({ medianMs, p99Ms, highestMs }: Lag): string {
  const text = (ms: number): string => `${ms.toFixed(1)} ms`;
  return `each as often as it should; late by ${text(medianMs)} (median), ${text(p99Ms)} (p99), ${
    text(highestMs)
  } (worst)`;
}

/** A port on loopback that accepts connections and never responds. */
function listenSilently(): Disposable & { readonly address: string } {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections = new Set<Deno.Conn>();
  const accept = async (): Promise<void> => {
    for await (const connection of listener) {
      connections.add(connection);
      void drain(connection).finally(() => connections.delete(connection));
    }
  };
  void accept();
  return {
    address: `http://127.0.0.1:${listener.addr.port}/`,
    [Symbol.dispose]: () => {
      listener.close();
      for (const connection of connections) connection.close();
    },
  };
}

async function drain(connection: Deno.Conn): Promise<void> {
  try {
    const buffer = new Uint8Array(1024);
    while (await connection.read(buffer) !== null) { /* it sends something, and gets no response */ }
    connection.close();
  } catch {
    // It was closed from here.
  }
}
