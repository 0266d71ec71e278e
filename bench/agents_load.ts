/**
 * Agents in one process: each records results with an engine and a state of its own, in memory, and reports them to a hub.
 * Prints what was measured as JSON.
 *
 *     agents_load.ts URL PID AGENTS RESULTS_PER_SECOND WARM_UP_SECONDS SECONDS KEY
 *
 * PID is the process of the hub. The key of the agent n is KEY followed by n, and its checks are `n-0`, `n-1` …
 */
import { load } from "../testing/config_system.ts";
import { createRealClock } from "../testing/real_clock.ts";
import { Engine } from "../src/engine/engine.ts";
import { ReportSender } from "../src/outputs/report_sender.ts";
import { createStores } from "../src/state/open_stores.ts";
import { openInMemoryStore } from "../src/state/sqlite/sqlite_store.ts";
import { openStateRepository } from "../src/state/state_repository.ts";
import { createSystem } from "../src/system/deno_system.ts";
import { quantile } from "./measure.ts";
import { readUsage } from "./process_usage.ts";

/** What the load prints. */
export interface AgentsLoad {
  /** Results that the hub has acknowledged in the measured time. */
  readonly received: number;
  /** Results that the agents recorded in that time. */
  readonly recorded: number;
  readonly seconds: number;
  readonly hubCpuMs: number;
  readonly agentsCpuMs: number;
  /** How long the hub took to reply. */
  readonly replyMs: { readonly median: number; readonly p99: number };
  /** Results that were waiting at the begin of the measured time, and at its end. */
  readonly waiting: readonly [number, number];
}

const [target = "", hubId, agents, perSecond, warmUpSeconds, seconds, key = ""] = Deno.args;
const ignore = (): void => {};
const fail = (error: unknown): never => {
  throw error;
};
const log = {
  info: ignore,
  warning: (text: string) => console.error(text),
  error: (text: string) => console.error(text),
};
const clock = createRealClock();
const system = createSystem(clock, { createStores });
const replyMs: number[] = [];
const requests: typeof system.requests = {
  explain: system.requests.explain,
  send: async (request, signal) => {
    const beganMs = performance.now();
    const response = await system.requests.send(request, signal);
    replyMs.push(performance.now() - beganMs);
    return response;
  },
};
const eachSecond = Number(perSecond) / Number(agents);
const started = await Promise.all(
  Array.from({ length: Number(agents) }, async (_, agent) => {
    const { checks } = await load({
      defaults: {},
      checks: Object.fromEntries(
        Array.from(
          { length: eachSecond },
          (_, index) => [`${agent}-${index}`, { kind: "test", parameters: {} }],
        ),
      ),
    });
    const repository = await openStateRepository({
      store: await openInMemoryStore(),
      onFailure: ignore,
      reopen: fail,
    });
    const reportTo = { target, key: `${key}${agent}`, intervalMs: 1_000 };
    const sender = new ReportSender({
      system: { clock, randomId: system.randomId, requests },
      log,
      repository,
      config: { reportTo, redact: (text: string) => text },
      onBug: fail,
    });
    const engine = new Engine([], {
      repository,
      sender: null,
      newId: system.randomId,
      hostName: "",
      reporter: sender,
    });
    return { checks, repository, sender, engine };
  }),
);
for (const { sender } of started) {
  sender.start();
  await new Promise((resolve) => setTimeout(resolve, 1_000 / started.length));
}

/** Records the results of a second, spread over it. */
const STEPS = 10;
let step = 0;
const startedMs = performance.now();

function recordStep(): void {
  // A late timer does not lower the rate.
  timer = setTimeout(recordStep, startedMs + (step + 1) * 1_000 / STEPS - performance.now());
  const nowMs = Date.now();
  for (const { checks, engine } of started) {
    for (const [index, check] of checks.entries()) {
      if (index % STEPS !== step % STEPS) continue;
      const result = {
        check,
        condition: "ok",
        output: `took ${index} ms`,
        detail: "",
        metrics: { response_ms: index },
        performanceData: "",
        startedAtMs: nowMs - 5,
        durationMs: 5,
      } as const;
      const plan = { atMs: nowMs + 1_000, overdueAtMs: nowMs + 120_000, missed: 0 };
      engine.record({ result, plan: () => plan }, nowMs);
    }
  }
  step++;
}
let timer = setTimeout(recordStep, 0);

const readWaiting = async (): Promise<number> => {
  let stored = 0;
  for (const { repository } of started) {
    await repository.flush();
    stored += (await repository.store.reports(0)).waiting;
  }
  return stored;
};
function recorded(): number {
  return started.reduce(
    (sum, { checks, repository }) =>
      sum + checks.reduce((runs, { name }) => runs + repository.recordOf(name, 0).runs.ok, 0),
    0,
  );
}

await new Promise((resolve) => setTimeout(resolve, Number(warmUpSeconds) * 1_000));
replyMs.length = 0;
const before = { hub: readUsage(Number(hubId)).cpuMs, agents: readUsage(Deno.pid).cpuMs };
const [beganMs, waitingBefore] = [performance.now(), await readWaiting()];
const recordedBefore = recorded();
await new Promise((resolve) => setTimeout(resolve, Number(seconds) * 1_000));
const waiting = await readWaiting();
const recordedNow = recorded() - recordedBefore;
const measured: AgentsLoad = {
  received: recordedNow + waitingBefore - waiting,
  recorded: recordedNow,
  seconds: (performance.now() - beganMs) / 1_000,
  hubCpuMs: readUsage(Number(hubId)).cpuMs - before.hub,
  agentsCpuMs: readUsage(Deno.pid).cpuMs - before.agents,
  replyMs: { median: quantile(replyMs, 0.5), p99: quantile(replyMs, 0.99) },
  waiting: [waitingBefore, waiting],
};
console.log(JSON.stringify(measured));
clearTimeout(timer);
await Promise.all(started.map(({ sender }) => sender.end()));
Deno.exit(0);
