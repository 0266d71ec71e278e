/** One run of a check, and one pass over several; the caller handles the results. */
import { entryOf } from "../checks/registry.ts";
import {
  type Check,
  type CheckResult,
  combinedChecks,
  invertResult,
  type Result,
  type RunAttributes,
  type TraceDepth,
  unknownResult,
} from "../domain/check.ts";
import type { Clock } from "../domain/clock.ts";
import type { LimitClass, ObserveContext } from "../domain/check_kind.ts";
import { lazily } from "../shared/lazily.ts";
import { createRedactor, type Redact, redactProcesses } from "../shared/redact.ts";
import type { AttributeObserver } from "./attributes.ts";
import { StallSafeRuns } from "./stall_safe.ts";
import type { StepReceiver } from "./trace/record_steps.ts";
import { onAbort, startDeadline, unlessAborted } from "../shared/deadline.ts";
import type { CheckRecord } from "../domain/store.ts";
import { hostPortIn } from "../checks/targets.ts";
import type { Trouble } from "../shared/describe_error.ts";

/** Limit how many checks run at a time that start a process, and that only wait for the network. */
export type Limiters = Readonly<Record<"process" | "network", Limiter>>;

export const DEFAULT_LIMITS = { process: 32, network: 512 };

/** Creates limiters with limits of 1 or more. */
export function createLimiters(limits: Partial<typeof DEFAULT_LIMITS> = {}): Limiters {
  const { process, network } = { ...DEFAULT_LIMITS, ...limits };
  return { process: createLimiter(process), network: createLimiter(network) };
}

export interface CheckRunner {
  limitOf(check: Check): Promise<LimitClass>;
  /** Returns `null` if there is no result yet: the check runs again soon. */
  run(check: Check, options: RunOptions): Promise<Result | null>;
  /** Before a run that is needed at once: makes all that it depends on new. Absent: it depends on nothing. */
  refresh?(check: Check): Promise<void> | null;
}

export const RUN_HERE: CheckRunner = {
  limitOf: async (check) => (await entryOf(check)).limit ?? "none",
  run: runCheck,
};

export interface RunOptions extends Omit<ObserveContext, "memory" | "isAsked" | "hide"> {
  /** Returns whether a person asked for a run of a check, once. Absent: none does. */
  takeAsked?(check: string): boolean;
  /** `null`: every failure counts. @default null */
  readonly connectivity?: Connectivity | null;
  /** Returns what earlier runs of a check left; `null`: nothing. Absent: no state is stored. */
  memoryOf?(check: string): string | null;
  /** Notes what runs depend on. @default that is not noted */
  readonly attributes?: AttributeObserver;
  /** Returns the attributes of the last run of a check. @default unknown */
  attributesOf?(check: Check): RunAttributes | undefined;
  /** Returns how much of a run is traced; `null`: nothing. @default nothing */
  traceOf?(check: Check): TraceDepth | null;
  /** Receives the steps of runs. @default nothing does */
  readonly steps?: StepReceiver | undefined;
  readonly redact: Redact;
}

export interface PassOptions extends RunOptions {
  /** Others may share them. */
  readonly limiters: Limiters;
  /** @default {@linkcode RUN_HERE} */
  readonly runner?: CheckRunner;
  onResult(result: Result): void;
}

/**
 * Runs each check once, or again if the process stalled or the system was suspended during its run. Checks that combine
 * others run after these. Returns the checks without a result, because the pass was ended early.
 */
export async function runPass(checks: readonly Check[], options: PassOptions): Promise<readonly Check[]> {
  const runs = new LimitedRuns(options.system.clock, options);
  const runOptions = { ...options, system: withoutSecrets(options.system, options.redact) };
  const combined = new Set(checks.flatMap(combinedChecks));
  const ends = new Map(
    checks.filter(({ name }) => combined.has(name)).map(({ name }) => [name, Promise.withResolvers<void>()]),
  );
  const isFinished = await Promise.all(checks.map(async (check) => {
    for (const name of combinedChecks(check)) await ends.get(name)?.promise;
    try {
      const result = await runs.run(check, runOptions);
      if (result !== null) options.onResult(result);
      return result !== null;
    } finally {
      ends.get(check.name)?.resolve();
    }
  })).finally(() => runs.end());
  return checks.filter((_check, index) => !isFinished[index]);
}

interface LimitedRun extends RunOptions {
  /** Called once the run has a free place; it does not start if this throws. */
  onStart?(): void;
  /** Called before the check runs again because of a stall. */
  onStall?(stalledMs: number): void;
}

/** Runs checks within limits, and again if the process stalled or the system was suspended. */
export class LimitedRuns {
  readonly #limiters: Limiters;
  readonly #runner: CheckRunner;
  readonly #stallSafe: StallSafeRuns;

  constructor(clock: Clock, { limiters, runner = RUN_HERE }: Pick<PassOptions, "limiters" | "runner">) {
    this.#limiters = limiters;
    this.#runner = runner;
    this.#stallSafe = new StallSafeRuns(clock);
  }

  /** Runs a check in its turn; `null` if the signal aborted the run, or there is no result yet. */
  async run(check: Check, options: LimitedRun): Promise<Result | null> {
    const limit = await this.#runner.limitOf(check);
    try {
      return limit === "none"
        ? await this.#start(check, options)
        : await this.#limiters[limit](() => this.#start(check, options), options.signal);
    } catch (error) {
      if (!options.signal.aborted) throw error;
      return null;
    }
  }

  #start(check: Check, options: LimitedRun): Promise<Result | null> {
    options.onStart?.();
    return this.#stallSafe.run(() => this.#runner.run(check, options), options);
  }

  end(): void {
    this.#stallSafe.end();
  }
}

/** Returns the system of runs: the output of commands contains no secrets. Created once for many runs. */
export function withoutSecrets(system: ObserveContext["system"], redact: Redact): ObserveContext["system"] {
  return { ...system, processes: redactProcesses(system.processes, redact) };
}

const readTracing = lazily(() => import("./trace/trace_run.ts"));
const readRecording = lazily(() => import("./trace/record_steps.ts"));

/**
 * Runs one check and measures it, on the system from {@linkcode withoutSecrets}.
 *
 * @throws The signal's reason, if it aborts before there is a result.
 */
export async function runCheck(check: Check, options: RunOptions): Promise<Result> {
  const { signal, redact, steps } = options;
  const depth = options.traceOf?.(check) ?? null;
  const traced = depth === null ? null : (await readTracing()).startTrace(options.system, depth);
  const ownSecrets: string[] = [];
  const entry = await entryOf(check);
  const recording = steps?.isOn === true
    ? (await readRecording()).recordSteps(traced?.system ?? options.system, steps)
    : null;
  const plain = recording?.system ?? traced?.system ?? options.system;
  // On the outside, since the others copy the system that they get.
  const noted = options.attributes?.start(plain, options.system) ?? null;
  const system = noted?.system ?? plain;
  const startedAtMs = system.clock.wallMs();
  const startedMonotonicMs = system.clock.monotonicMs();
  const isAsked = options.takeAsked?.(check.name);
  const memory = options.memoryOf?.(check.name);
  const context: ObserveContext = {
    ...options,
    system,
    ...isAsked !== undefined && { isAsked },
    ...memory !== undefined && { memory },
    hide: (secrets) => void ownSecrets.push(...secrets),
  };
  signal.throwIfAborted();
  const observed = check.lack === undefined
    ? await entry.observe(check, context)
    : unknownResult(`cannot run: ${check.lack}`);
  const durationMs = system.clock.monotonicMs() - startedMonotonicMs;
  const counted = check.lack !== undefined
    ? observed
    : await options.connectivity?.(check, observed, { system: options.system, signal }) ?? observed;
  const checkResult = check.invert ? invertResult(counted) : counted;
  const attributes = check.lack !== undefined || check.invert || checkResult.awaits !== undefined
    ? undefined
    : await noted?.finish({
      condition: checkResult.condition,
      host: entry.reachedBy?.(check) ?? null,
      shared: entry.sharedBy?.(check) ?? null,
      // Reports and the conditions of other checks are no facts about it.
      unit: check.agent === undefined && combinedChecks(check).length === 0 ? check.unit ?? null : null,
      units: checkResult.units ?? [],
      last: options.attributesOf?.(check),
    }, signal);
  const isTraced = traced !== null && (depth === "full" || checkResult.condition !== "ok");
  if (isTraced) await traced.tracer.finish(signal);
  const redactOwn = isTraced || recording !== null ? createRedactor(ownSecrets) : null;
  const trace = !isTraced || redactOwn === null
    ? undefined
    : traced.tracer.text((text, cut) => redactOwn(redact(text, cut), cut));
  const result: Result = {
    ...checkResult,
    output: redact(checkResult.output),
    detail: redact(checkResult.detail),
    performanceData: redact(checkResult.performanceData),
    check,
    startedAtMs,
    durationMs,
    ...trace !== undefined && { trace },
    ...attributes !== undefined && { attributes },
  };
  if (recording !== null) {
    steps?.receive(recording.end(result, (text) => redactOwn?.(redact(text)) ?? redact(text)));
  }
  return result;
}

/**
 * Runs a task once there is a free slot, and resolves or rejects like the task. With a free slot, the task starts before
 * the call returns; the others wait in order.
 *
 * The signal removes a waiting task from the queue; then its reason is thrown and the task never starts. A running
 * task handles the signal itself.
 */
type Limiter = <T>(task: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/** Limits the number of concurrent tasks, to 1 or more. */
export function createLimiter(limit: number): Limiter {
  /** What starts each waiting task, in order of arrival. */
  const waiting = new Set<() => void>();
  let running = 0;

  const perform = async <T>(task: () => Promise<T>): Promise<T> => {
    try {
      return await asPromise(task);
    } finally {
      // The place is passed on at once, so that no newcomer can slip in before a waiting task.
      const [start] = waiting;
      if (start === undefined) running--;
      else start();
    }
  };

  return (task, signal) => {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (running < limit) {
      running++;
      return perform(task);
    }
    return new Promise((resolve, reject) => {
      const start = (): void => {
        waiting.delete(start);
        stopListening();
        resolve(perform(task));
      };
      const stopListening = onAbort(signal, () => {
        waiting.delete(start);
        reject(signal.reason);
      });
      waiting.add(start);
    });
  };
}

/** A throw becomes a rejection, so that a queue of tasks that throw at once does not nest ever deeper. */
async function asPromise<T>(task: () => Promise<T>): Promise<T> {
  return await task();
}

/** Returns whether the next result may confirm a problem, or a more severe one, so that its run is worth a trace. */
export function mayConfirmProblem(check: Check, { condition }: Pick<CheckRecord, "condition">): boolean {
  return check.threshold === 1 || (condition.observed ?? "ok") !== "ok";
}

// Whether this machine has a network: servers of which one must respond.

type ProbeSystem = Pick<ObserveContext["system"], "clock" | "connections">;

/** A probe is used for all failures within this time after it began. */
const FRESH_MS = 1_000;
const TIMEOUT_MS = 5_000;

/** Returns a result as it is, or one that does not count if it failed while no server of the config responds. */
type Connectivity = (
  check: Check,
  result: CheckResult,
  run: { readonly system: ProbeSystem; readonly signal: AbortSignal },
) => Promise<CheckResult>;

/**
 * Returns the connectivity by the servers that a config names, each as `HOST:PORT`; `null`: it names none, so that every
 * failure counts. Checks that fail at the same time share a probe. The trouble is that none of the servers responds.
 */
export function connectivityOf(
  { connectivity: servers }: { readonly connectivity: readonly string[] | null },
  trouble: Pick<Trouble<readonly string[]>, "set"> | null = null,
): Connectivity | null {
  if (servers === null) return null;
  let last = { beganAtMs: -Infinity, isOnline: Promise.resolve(true) };
  const probeAll = (system: ProbeSystem): Promise<boolean> => {
    const nowMs = system.clock.monotonicMs();
    if (nowMs - last.beganAtMs < FRESH_MS) return last.isOnline;
    const probes = servers.map((server) => probe(server, system));
    last = { beganAtMs: nowMs, isOnline: Promise.any(probes).then(() => true, () => false) };
    return last.isOnline;
  };
  return async (check, result, { system, signal }) => {
    if (result.condition === "ok" || check.connectivity !== true) return result;
    if ((await entryOf(check)).hasResponded?.(result) === true) return result;
    const isOnline = await unlessAborted(probeAll(system), signal);
    trouble?.set(isOnline ? null : servers);
    if (isOnline) return result;
    const reason = `this machine has no network: no response from ${servers.join(", ")}`;
    return { ...unknownResult(`${reason}; ${result.output}`), detail: result.detail, awaits: "checks" };
  };
}

async function probe(server: string, { clock, connections }: ProbeSystem): Promise<void> {
  const target = hostPortIn(server);
  if (target === null) throw new Error(`Cannot connect to ${server}`);
  using deadline = startDeadline(clock, TIMEOUT_MS);
  const connection = await connections.connect(target, { signal: deadline.signal });
  connection.close();
}
