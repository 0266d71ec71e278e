/**
 * One pass over checks, as in `check --once`: it runs them, records the results and sends the notifications that follow.
 * It also runs, without passing on their results, dependencies that decide whether a notification is suppressed, and
 * groups of checks that changed.
 *
 * Other calls may share the state. Each writes the results of its checks before it reads those of others and runs a
 * group. So of calls that overlap, the last one sees all results, and its result of the group counts: one that was
 * overtaken runs the group again.
 */
import { conditionOf } from "../engine/check_status.ts";
import { type Decided, isRepeated } from "../engine/decide.ts";
import { runAction } from "../engine/run_action.ts";
import type { ActionRun, Condition } from "../domain/condition.ts";
import type { Engine } from "../engine/engine.ts";
import { type Check, combinedChecks, type Result } from "../domain/check.ts";
import type { KnownCondition } from "../domain/check_kind.ts";
import type { SharedStore } from "../domain/membership.ts";
import { StoreError } from "../domain/store.ts";
import { jobLogOf } from "../state/read_store.ts";
import type { SharedSender } from "../members/shared_sender.ts";
import { type StateRepository, WriteSchedule } from "../state/state_repository.ts";
import { bareUpdate } from "../state/write_behind.ts";
import { recordRequested } from "./next_run.ts";
import {
  type CheckRunner,
  mayConfirmProblem,
  type PassOptions,
  RUN_HERE,
  runPass,
  withoutSecrets,
} from "./run_checks.ts";
import { SuppressedChecks } from "./suppressed_checks.ts";
import { AttributeObserver, lastAttributes } from "./attributes.ts";
import { sleep } from "../shared/deadline.ts";

interface RecordedPassOptions extends Omit<PassOptions, "jobs" | "onResult"> {
  readonly active: readonly Check[];
  readonly repository: StateRepository;
  readonly engine: Engine;
  /** The state, if several processes share it, and what sends from it. */
  readonly shared: {
    readonly store: Pick<SharedStore, "load" | "readOthers" | "known">;
    readonly sender: Pick<SharedSender, "forget" | "know">;
  } | null;
  /** Names of checks whose results don't count, because another process has written their record. */
  readonly overtaken: Set<string>;
  /** Whether the state outlasts the pass; if not, only this pass can confirm a condition. */
  readonly isKept: boolean;
  /** Whether active checks that are not asked for are decided again, and their groups run. */
  readonly includesOthers: boolean;
  readonly tracesAll: boolean;
  /** Whether it is noted what runs depend on, to find common causes. */
  readonly commonCauses: boolean;
  /** The name of this machine among those that share the state; `null`: it is not shared. */
  readonly machine: string | null;
  /** The location of this machine among them; `null`: none. */
  readonly location: string | null;
  /** Called for each check that is asked for. */
  onResult(result: Result, entry: Decided): void;
  onBug(error: unknown): void;
}

export class RecordedPass {
  readonly #options: RecordedPassOptions;
  readonly #active: ReadonlyMap<string, Check>;
  readonly #pass: Omit<PassOptions, "onResult">;
  readonly #suppressed: SuppressedChecks;
  readonly #writing: WriteSchedule;
  readonly #running = new Set<string>();
  /** Names of checks whose result was passed on. */
  readonly #ran = new Set<string>();
  /** Names of checks whose known condition changed. */
  readonly #changed = new Set<string>();
  /** Decisions and runs of dependencies in progress. */
  readonly #work = new Set<Promise<unknown>>();
  /** Ends when every notification that was decided is written and in its queue. */
  #sending: Promise<unknown> = Promise.resolve();

  constructor(options: RecordedPassOptions) {
    const { system, repository, isKept, onBug } = options;
    this.#options = options;
    this.#active = new Map(options.active.map((check) => [check.name, check]));
    this.#pass = {
      ...options,
      runner: this.#freshGroups(options.runner ?? RUN_HERE),
      jobs: isKept ? jobLogOf(repository) : null,
      notifies: options.engine.notifies,
      undelivered: (token) => options.engine.undelivered(token),
      conditionOf: (name) => this.#conditionOf(name),
      ...isKept && { memoryOf: (name) => this.#recordOf(name).last?.memory ?? null },
      ...isKept && options.commonCauses && {
        attributes: new AttributeObserver(options.machine, options.location),
        attributesOf: (check) => lastAttributes(check, this.#recordOf(check.name)),
      },
      traceOf: (check) => {
        if (options.tracesAll) return "full";
        return mayConfirmProblem(check, this.#recordOf(check.name)) ? "brief" : null;
      },
    };
    this.#suppressed = new SuppressedChecks({
      ...options,
      nowMs: () => system.clock.wallMs(),
      checkOf: (name) => this.#active.get(name) ?? null,
      request: (name) => this.#runDependency(name),
      send: (entry) => this.#send(entry),
    });
    this.#writing = new WriteSchedule({ repository, after: system.clock.after, onBug });
  }

  /** Runs checks; returns those without a result, because the pass was aborted. Call `finish` afterwards. */
  async run(checks: readonly Check[], retry: RetryOptions | null): Promise<readonly Check[]> {
    for (const { name } of checks) this.#running.add(name);
    const also = [...this.#active.keys()].filter((name) => !this.#running.has(name));
    if (this.#options.includesOthers) this.#do(this.#suppressed.review({ also }));
    const onResult = (result: Result): void => {
      this.#ran.add(result.check.name);
      const entry = this.#record(result);
      this.#options.onResult(entry.result ?? result, entry);
    };
    const pass = { ...this.#pass, onResult };
    try {
      if (retry === null) return await runPass(checks, pass);
      return await runRetryPass(checks, pass, retry);
    } finally {
      await this.#untilDone();
    }
  }

  /** Decides again about suppressed notifications, and waits until everything is persisted. */
  async finish(): Promise<void> {
    this.#do(this.#suppressed.review());
    await this.#untilDone();
    if (this.#options.includesOthers) await this.#runChangedGroups();
    this.#writing.end();
    await this.#options.repository.flush();
    await this.#sending;
  }

  #recordOf(name: string): ReturnType<StateRepository["recordOf"]> {
    return this.#options.repository.recordOf(name, this.#options.system.clock.wallMs());
  }

  #conditionOf(name: string): KnownCondition | null {
    const check = this.#active.get(name);
    if (check === undefined) return null;
    const record = this.#recordOf(name);
    const known = conditionOf(check, record, this.#options.system.clock.wallMs());
    // Without a state, the results of this pass are all that there is.
    return this.#options.isKept || known.last === null ? known : { ...known, condition: known.last };
  }

  #record(result: Result): Decided {
    const { system, engine } = this.#options;
    const { check } = result;
    const nowMs = system.clock.wallMs();
    const before = this.#conditionOf(check.name);
    const record = this.#recordOf(check.name);
    if (isRepeated(result, record)) {
      this.#running.delete(check.name);
      const nothing = { result: null, occurrences: 0, notification: null, suppressed: null, action: null };
      return { ...nothing, record, queued: [], update: bareUpdate(record) };
    }
    const entry = recordRequested(record, result, { engine, nowMs });
    this.#send(entry);
    if (before?.condition !== this.#conditionOf(check.name)?.condition) this.#changed.add(check.name);
    this.#running.delete(check.name);
    this.#do(this.#suppressed.recorded(check, entry));
    return entry;
  }

  #send(entry: Decided): void {
    const { engine, onBug } = this.#options;
    const written = this.#writing.recorded();
    const check = this.#active.get(entry.record.name);
    if (entry.action !== null && check !== undefined) this.#do(this.#act(check, entry.action, written));
    if (entry.queued.length === 0) return void written.catch(onBug);
    this.#sending = Promise.all([this.#sending, written]).then(() => engine.send(entry)).catch(onBug);
  }

  async #act(check: Check, begun: ActionRun, written: Promise<void>): Promise<void> {
    const { repository, directory, signal, redact, system } = this.#options;
    await written;
    await runAction(check, begun, { repository, directory, signal, system: withoutSecrets(system, redact) });
  }

  #runDependency(name: string): void {
    const check = this.#active.get(name);
    if (check === undefined || this.#running.has(name)) return;
    this.#running.add(name);
    this.#do(runPass([check], { ...this.#pass, onResult: (result) => void this.#record(result) }));
  }

  /** Runs groups that were not asked for and combine a check that changed, until no further one changes. */
  async #runChangedGroups(): Promise<void> {
    const { active, overtaken } = this.#options;
    await this.#writeShared();
    let left = active.filter(({ name }) => !this.#ran.has(name) || overtaken.has(name));
    for (;;) {
      const isAffected = (check: Check): boolean =>
        combinedChecks(check).some((name) => this.#changed.has(name));
      const groups = left.filter(isAffected);
      if (groups.length === 0) return await this.#untilDone();
      for (const { name } of groups) overtaken.delete(name);
      await runPass(groups, { ...this.#pass, onResult: (result) => void this.#record(result) });
      await this.#writeShared();
      left = left.filter((check) => !groups.includes(check) || overtaken.has(check.name));
    }
  }

  /** Writes the results at once, if others read them. */
  async #writeShared(): Promise<void> {
    if (this.#options.shared === null) return;
    await this.#options.repository.flush();
    await this.#sending;
  }

  /** Reads the results of other processes before it runs a group. */
  #freshGroups(runner: CheckRunner): CheckRunner {
    return {
      limitOf: (check) => runner.limitOf(check),
      run: async (check, options) => {
        if (combinedChecks(check).length > 0) await this.#readShared(check);
        return await runner.run(check, options);
      },
    };
  }

  async #readShared(group: Check): Promise<void> {
    const { shared, repository } = this.#options;
    if (shared === null) return;
    const { store, sender } = shared;
    // Results of running checks are not written yet.
    const names = combinedChecks(group).filter((name) => !this.#running.has(name));
    await this.#writeShared();
    // Results in memory are newer than the stored ones.
    if (!repository.isWritable) return;
    try {
      repository.adopt([...await store.readOthers(names), ...await store.load([group.name])]);
      sender.forget([group.name]);
      await sender.know([group.name], store.known);
    } catch (error) {
      // While the state can't be read, the last results count.
      if (!(error instanceof StoreError)) throw error;
    }
  }

  #do(work: Promise<unknown>): void {
    const ended = work.catch(this.#options.onBug).finally(() => this.#work.delete(ended));
    this.#work.add(ended);
  }

  async #untilDone(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work);
  }
}

interface RetryOptions {
  /** No run begins later than this after the first one. */
  readonly forMs: number;
  /** Returns whether a result is a reason to run a check again. */
  isFailure(condition: Condition): boolean;
  onRetry(checks: readonly Check[], leftMs: number): void;
}

/** From the end of one pass to the beginning of the next. */
const PAUSE_MS = 2_000;

/**
 * Runs each check, and again those that fail, until none does or the time is over. Only the last result of each check
 * is passed on. Returns the checks without any result, because the pass was ended early.
 */
export async function runRetryPass(
  checks: readonly Check[],
  options: PassOptions,
  { forMs, isFailure, onRetry }: RetryOptions,
): Promise<readonly Check[]> {
  const { system: { clock }, signal, onResult } = options;
  const endMs = clock.monotonicMs() + forMs;
  /** Results that another run may replace. */
  const failed = new Map<Check, Result>();
  // A group follows from results that were passed on, so it runs once after them.
  const groups = checks.filter((check) => combinedChecks(check).length > 0);
  const others = checks.filter((check) => !groups.includes(check));
  let left = others;
  for (;;) {
    const unfinished = await runPass(left, {
      ...options,
      onResult: (result) => {
        if (isFailure(result.condition)) return void failed.set(result.check, result);
        failed.delete(result.check);
        onResult(result);
      },
    });
    left = others.filter((check) => failed.has(check));
    const leftMs = endMs - clock.monotonicMs();
    const canRetry = left.length > 0 && leftMs > 0 && !signal.aborted &&
      await sleep(clock, Math.min(PAUSE_MS, leftMs), signal).then(() => true, () => false);
    if (!canRetry) {
      for (const result of failed.values()) onResult(result);
      return [...unfinished.filter((check) => !failed.has(check)), ...await runPass(groups, options)];
    }
    onRetry(left, Math.max(0, endMs - clock.monotonicMs()));
  }
}
