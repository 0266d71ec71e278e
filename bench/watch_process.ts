/**
 * Watches checks in a process of its own for some seconds, and prints what that cost.
 *
 *     deno run --allow-all bench/watch_process.ts '{"checks":"none","store":"memory","seconds":10}'
 */
import process from "node:process";
import type { Check } from "../src/domain/check.ts";
import type { Store } from "../src/domain/store.ts";
import { type Ledger, openLedger } from "../src/ledger.ts";
import { DEFAULT_LIMITS } from "../src/monitor.ts";
import { nextOnGrid, phaseOf } from "../src/schedule/plan.ts";
import { createMemoryStore } from "../src/storage/memory_store.ts";
import { createSystem } from "../src/system/system.ts";
import { startWatch } from "../src/watch.ts";
import { askingCheck, steadyCheck } from "../scripts/soak/checks.ts";
import { NO_REPORTING } from "../scripts/soak/no_reporting.ts";
import { withRealStore } from "../scripts/soak/store.ts";

/** What is watched, and how. */
export interface WatchSubject {
  /** `none`: the process only sleeps; `hourly`: checks an hour apart; the others every second. */
  readonly checks: "none" | "hourly" | "steady" | "asking";
  /** Where the state is kept; the disk is that of the system's folder for temporary files. */
  readonly store: "memory" | "sqlite";
  /** For how long, once everything has begun. */
  readonly seconds: number;
  /** The address that `asking` checks ask. */
  readonly target?: string;
}

/** What it cost. */
export interface WatchSample {
  /** User and system time of those seconds. */
  readonly cpuMs: number;
  /** The runs in those seconds. */
  readonly runs: number;
}

const COUNT = 1000;
const HOUR_MS = 3_600_000;
const BEGIN_MS = 2_000;
/** Some time after its last work the runtime tidies its heap, once. */
const IDLE_BEGIN_MS = 30_000;

/** Watches in a process of its own. */
export async function measureWatch(subject: WatchSubject): Promise<WatchSample> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-check",
      "--allow-all",
      import.meta.filename ?? "",
      JSON.stringify(subject),
    ],
    stdin: "null",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error(`Cannot measure checks "${subject.checks}": the process failed`);
  return JSON.parse(new TextDecoder().decode(stdout));
}

async function watch(subject: WatchSubject): Promise<WatchSample> {
  if (subject.checks === "none") {
    await sleep(IDLE_BEGIN_MS);
    return await measure(subject.seconds, () => 0);
  }
  if (subject.store === "sqlite") return await withRealStore((store) => watchWith(subject, store));
  return await watchWith(subject, createMemoryStore());
}

async function watchWith(subject: WatchSubject, store: Store): Promise<WatchSample> {
  let runs = 0;
  const fail = (error: unknown): never => {
    throw error;
  };
  const ledger = await openLedger({
    store,
    onTrouble: (error) => {
      if (error !== null) fail(error);
    },
    reopen: fail,
    newId: () => crypto.randomUUID(),
    hostName: "bench",
  });
  const checks = checksOf(subject);
  if (subject.checks === "hourly") { for (const check of checks) enterRun(ledger, check); }
  const watching = startWatch({ checks, folder: "/", redact: (text) => text }, {
    system: createSystem(),
    jobs: null,
    ledger,
    limits: DEFAULT_LIMITS,
    reporting: NO_REPORTING,
    onEvent: (event) => {
      if (event.event !== "result") return;
      runs++;
      if (event.result.condition !== "ok") fail(new Error(`a check said "${event.result.output}"`));
    },
    onBug: fail,
  });
  await sleep(subject.checks === "hourly" ? IDLE_BEGIN_MS : BEGIN_MS);
  const sample = await measure(subject.seconds, () => runs);
  await watching.stop(0);
  return sample;
}

/** A run of before, so that the checks are spread over the hour as they are after some hours. */
function enterRun(ledger: Ledger, check: Check): void {
  const nowMs = Date.now();
  const observed = { condition: "ok", output: "", detail: "", metrics: {}, performanceData: "" } as const;
  ledger.enter({ ...observed, check, startedAtMs: nowMs, durationMs: 1 }, {
    nowMs,
    held: null,
    rowsOf: () => [],
    plan: () => ({
      atMs: nextOnGrid(nowMs, HOUR_MS, phaseOf(check.name)),
      intervalMs: HOUR_MS,
      missed: 0,
    }),
  });
}

function checksOf({ checks, target = "" }: WatchSubject): readonly Check[] {
  const intervalMs = checks === "hourly" ? HOUR_MS : 1_000;
  return Array.from({ length: COUNT }, (_, index) => {
    const options = { name: `check ${index}`, intervalMs };
    return checks === "asking" ? askingCheck(target, options) : steadyCheck(options);
  });
}

async function measure(seconds: number, runs: () => number): Promise<WatchSample> {
  const before = { cpuMs: cpuMs(), runs: runs() };
  await sleep(seconds * 1000);
  return { cpuMs: cpuMs() - before.cpuMs, runs: runs() - before.runs };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

if (import.meta.main) {
  const [subject = ""] = Deno.args;
  console.log(JSON.stringify(await watch(JSON.parse(subject))));
  Deno.exit(0);
}
