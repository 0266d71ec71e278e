/**
 * The continuous loop: runs checks on their schedules until it is stopped. It executes the effects of `task.ts`,
 * such as timers and runs, and records the results. It emits events, which the caller prints.
 *
 * Times are on one line (see `local_time.ts`). A step of the wall clock does not move it until `#followClock`
 * handles it, whenever a timer fires or a run ends.
 */
import {
  type Check,
  combinedChecks,
  isReported,
  lateOutput,
  type ReportId,
  type Result,
} from "../domain/check.ts";
import { asHeard, conditionOf, isAfterGap, REPORT_MARGIN_MS } from "../engine/check_status.ts";
import { hasProblem } from "../condition/condition_state.ts";
import { type CheckRecord, isEdited, type JobLog } from "../domain/store.ts";
import { createAbort, endsWithin } from "../shared/deadline.ts";
import { ALL_WORK, type WorkShare } from "../domain/membership.ts";
import type { Notification } from "../domain/outbox.ts";
import type { Redact } from "../shared/redact.ts";
import type { KnownCondition, ObserveContext, ReportLog } from "../domain/check_kind.ts";
import { runAction } from "../engine/run_action.ts";
import type { ActionRun } from "../domain/condition.ts";
import { type Decided, isRepeated, type Run } from "../engine/decide.ts";
import type { Engine } from "../engine/engine.ts";
import { startPersisting, type StateRepository, type WriteSchedule } from "../state/state_repository.ts";
import { createLagReporter, JUMP_MS, type LagSummary, STALL_MS } from "./stall_safe.ts";
import {
  type CheckRunner,
  connectivityOf,
  LimitedRuns,
  type Limiters,
  mayConfirmProblem,
  type RunOptions,
  withoutSecrets,
} from "./run_checks.ts";
import { AttributeObserver, lastAttributes } from "./attributes.ts";
import { nextRunAfter, withOverdue } from "./next_run.ts";
import { createTrouble } from "../shared/describe_error.ts";
import { createScheduleTime, type ScheduleTime } from "../shared/local_time.ts";
import { SuppressedChecks } from "./suppressed_checks.ts";
import {
  createTask,
  hasStarted,
  type Task,
  type TaskEffect,
  type TaskEvent,
  type TaskTransition,
  transitionTask,
} from "./task.ts";
import type { StepReceiver } from "./trace/record_steps.ts";

/** The checks that a scheduler runs; a reload replaces them whole. */
export interface ScheduledConfig {
  /** Active checks only. */
  readonly checks: readonly Check[];
  /** Every check of the config, including those that do not run here: their records stay. @default checks */
  readonly configChecks?: readonly Check[];
  /** How long results are kept; `null`: the default. @default 90 days */
  readonly retentionMs?: number | null;
  /** Servers of which one responds while this machine has a network; `null`: every failure counts. @default null */
  readonly connectivity?: readonly string[] | null;
  /** Whether it is noted what runs depend on, to find common causes. @default false */
  readonly commonCauses?: boolean;
  /** Absolute. */
  readonly directory: string;
  /** Returns the time zone of times in outputs. @default UTC */
  timeZone?(): string;
  readonly redact: Redact;
}

/**
 * An event of the loop.
 *
 * - `result`: a run that counts; it began `lateMs` after its planned time.
 * - `action`: the action of a check begins, or has ended.
 * - `network`: failures do not count any more, since none of these servers responds; `null`: they do again.
 * - `notification`: the notification of a result; its rows are being sent.
 * - `clock_jumped`: the clocks diverged by `forMs` (negative: the wall clock was set back); `discarded` results do
 *   not count.
 * - `stalled`: since the last such event, this process stalled during `count` runs, whose results do not count.
 * - `late`: since the last such event, `count` runs began a second or more late.
 */
export type SchedulerEvent =
  | { readonly event: "result"; readonly result: Result; readonly entry: Decided; readonly lateMs: number }
  | { readonly event: "notification"; readonly notification: Notification }
  | { readonly event: "network"; readonly servers: readonly string[] | null }
  | { readonly event: "action"; readonly check: Check; readonly run: ActionRun }
  | { readonly event: "clock_jumped"; readonly forMs: number; readonly discarded: number }
  | ({ readonly event: "stalled" | "late" } & LagSummary);

export interface SchedulerOptions {
  readonly system: ObserveContext["system"];
  readonly jobs: JobLog | null;
  /** What agents have reported. @default null, nothing receives reports */
  readonly reports?: ReportLog | null;
  /** The records; the scheduler writes and prunes them. */
  readonly repository: StateRepository;
  /** Checks beyond the limits are queued, and late. */
  readonly limiters: Limiters;
  /** @default {@linkcode RUN_HERE} */
  readonly runner?: CheckRunner;
  /** Receives the steps of runs. @default nothing does */
  readonly steps?: StepReceiver | undefined;
  /** Records every result that counts, and decides on notifications. */
  readonly engine: Omit<Engine, "suppressedBy" | "reload">;
  /** Decides which of the checks run here; notify the scheduler of a change with `spread`. @default all of them */
  readonly share?: WorkShare;
  /** Called at once for each event; for a notification only after an attempt to write it. */
  onEvent(event: SchedulerEvent): void;
  /** Called with a bug; the scheduler does not go on. */
  onBug(error: unknown): void;
}

interface AgentResult extends Omit<Result, "check" | "startedAtMs"> {
  readonly report: ReportId;
  /** How long ago the run ended, 0 or more. */
  readonly agoMs: number;
  readonly lateMs: number | null;
  readonly nextRunInMs: number;
  readonly overdueInMs: number;
  /** Whether nothing ran at the agent before it. */
  readonly isInterrupted: boolean;
}

/** A clock jump is noticed so soon after it, however far away the next run is. */
const WAKE_EVERY_MS = 30_000;

interface Slot {
  task: Task;
  cancelTimer: (() => void) | null;
  /** The callback of its timers, created once: thousands of idle checks have a timer each. */
  readonly wake: () => void;
  /** Ends the run in progress; `null`: none is, and idle checks keep nothing of their last run. */
  abort: Pick<AbortController, "signal" | "abort"> | null;
}

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #time: ScheduleTime;
  /** Cancels each pending timer that is not of a check. */
  readonly #timers = new Set<() => void>();
  readonly #limited: LimitedRuns;
  readonly #suppressed: SuppressedChecks;
  readonly #writing: WriteSchedule;
  readonly #reportLate: ReturnType<typeof createLagReporter>;
  readonly #reportStall: ReturnType<typeof createLagReporter>;
  readonly #slots = new Map<string, Slot>();
  readonly #runs = new Set<Promise<void>>();
  readonly #unfinished: string[] = [];
  readonly #listeners: ((event: SchedulerEvent) => void)[] = [];
  readonly #share: WorkShare;
  /** By the name of a check, the groups that combine it. */
  #groups = new Map<string, string[]>();
  /** Groups of which a check changed during their run. */
  readonly #changed = new Set<string>();
  /** The checks that run, here or elsewhere, by name. */
  #active: ReadonlyMap<string, Check> = new Map();
  #config: ScheduledConfig;
  /** The common options of all runs: the system without the secrets of the config, and the like. */
  #common: Omit<RunOptions, "signal">;
  #sending: Promise<void> = Promise.resolve();
  #isStopping = false;
  /** Ends actions in progress. */
  readonly #stopped = new AbortController();
  readonly #attributes: AttributeObserver;
  readonly #asked = new Set<string>();
  readonly #network = createTrouble<readonly string[]>((servers) =>
    this.#emit({ event: "network", servers })
  );
  /** When the service started, or went on after a suspend or a clock that was set. */
  #resumedAtMs: number;

  constructor(config: ScheduledConfig, options: SchedulerOptions) {
    const { system: { clock }, repository, share = ALL_WORK, onBug } = options;
    const after = this.#after.bind(this);
    this.#options = options;
    this.#share = share;
    this.#attributes = new AttributeObserver(share.name, share.location?.name);
    this.#config = config;
    this.#common = this.#commonTo(config);
    this.#time = createScheduleTime(clock);
    this.#resumedAtMs = this.#time.nowMs();
    this.#limited = new LimitedRuns(clock, options);
    const reporterOf = (event: "stalled" | "late") =>
      createLagReporter({ after, report: (lag) => this.#emit({ event, ...lag }) });
    this.#reportLate = reporterOf("late");
    this.#reportStall = reporterOf("stalled");
    this.#suppressed = this.#createSuppressed();
    this.#adopt(config);
    this.#wakeNowAndThen();
    this.#writing = startPersisting({
      repository,
      kept: () => {
        const { checks, configChecks = checks } = this.#config;
        const kept = configChecks.filter(({ name, active }) => share.runs(name) || !active);
        return { ...this.#config, checks: kept };
      },
      share,
      nowMs: () => this.#time.nowMs(),
      after,
      onBug,
    });
  }

  /** Calls back for each event, after `onEvent`. */
  subscribe(listener: (event: SchedulerEvent) => void): void {
    this.#listeners.push(listener);
  }

  /** Whether no run is overdue: the loop does its work. */
  get isAdvancing(): boolean {
    const nowMs = this.#time.nowMs();
    return [...this.#slots.values()].every(({ task: { state } }) =>
      state.status !== "idle" || state.plannedMs > nowMs - STALL_MS
    );
  }

  /** Whether it starts no more runs, and records no more reports. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** The checks that run now, in no order. */
  get running(): readonly string[] {
    return [...this.#slots.values()].flatMap(({ task }) => hasStarted(task) ? [task.check.name] : []);
  }

  /** Runs a check at once, as {@linkcode runNow} does, since a person asked for it. */
  runAsked(name: string): boolean {
    this.#asked.add(name);
    const runs = this.runNow(name);
    if (!runs) this.#asked.delete(name);
    return runs;
  }

  /** Runs a check at once, unless it runs already; `false`: it does not run here, or an agent runs it. */
  runNow(name: string): boolean {
    const slot = this.#slots.get(name);
    if (this.#isStopping || slot === undefined || slot.task.state.status === "removed") return false;
    if (isReported(slot.task.check)) return false;
    this.#request(slot);
    return true;
  }

  /** Runs a check at once, here or at the member that owns it. */
  request(name: string): void {
    if (!this.runNow(name) && !this.#isStopping) this.#share.callFor?.(name, "needed");
  }

  /** Whether a check runs, here or elsewhere. */
  runs(name: string): boolean {
    return this.#active.has(name);
  }

  owns(name: string): boolean {
    return this.#slots.has(name);
  }

  /** Runs a check at once from the stored results of its locations, if it runs here. */
  decideNow(name: string): void {
    const slot = this.#slots.get(name);
    if (!this.#isStopping && slot !== undefined) this.#happen(slot, { event: "requested" });
  }

  /**
   * Records a result that an agent reported, unless it is recorded already; `false`: the check is not scheduled here. It
   * counts from its own time on. One that arrives after the next one was due counts for the history alone.
   */
  report(
    name: string,
    { agoMs, lateMs, nextRunInMs, overdueInMs, isInterrupted, ...reported }: AgentResult,
  ): boolean {
    const slot = this.#slots.get(name);
    if (this.#isStopping || slot === undefined || slot.task.state.status === "removed") return false;
    this.#followClock();
    const { check } = slot.task;
    const nowMs = this.#time.nowMs();
    const record = this.#recordOf(name);
    const { condition, last } = record;
    const isKnown = last?.report?.stream === reported.report.stream &&
      last.report.sequence >= reported.report.sequence;
    if (isKnown) return true;
    // In the order of the agent, whose clock may run at another speed.
    const endedAtMs = Math.max(nowMs - agoMs, Math.min(condition.observedAtMs ?? -Infinity, nowMs));
    const overdueAtMs = endedAtMs + overdueInMs + REPORT_MARGIN_MS;
    const isLate = nowMs > overdueAtMs;
    const output = isLate ? lateOutput(reported.output) : reported.output;
    const startedAtMs = endedAtMs - reported.durationMs;
    // Once none comes, each look replaces the result, but not its memory.
    const result = { ...reported, output, isLate, check, startedAtMs, memory: String(startedAtMs) };
    this.#keep(slot, result, {
      run: {
        lateMs,
        isAfterGap: isAfterGap(check, record, endedAtMs),
        isInterrupted: isInterrupted || isEdited(check, record) ||
          condition.observedAtMs !== null && condition.observedAtMs > endedAtMs,
        plan: () => ({ atMs: endedAtMs + nextRunInMs, overdueAtMs, missed: 0 }),
      },
      atMs: endedAtMs,
      nowMs,
    });
    return true;
  }

  /** Goes on with another config: unchanged checks keep their offset and their plan, all keep their state by name. */
  reload(config: ScheduledConfig): void {
    // This may be the first event after the system was suspended.
    this.#followClock();
    this.#adopt(config);
    this.#suppressed.reloaded().catch(this.#options.onBug);
    // Marks checks that the config no longer runs as left.
    this.#writing.recorded().catch(this.#options.onBug);
  }

  /** Goes on with another share of the checks. Runs in progress of checks that others run now end as usual. */
  spread(): void {
    if (this.#isStopping) return;
    const before = new Set(this.#slots.keys());
    this.#adopt(this.#config);
    for (const [name, { task: { check } }] of this.#slots) {
      // Its checks may have changed while no member ran the group.
      if (!before.has(name) && combinedChecks(check).length > 0) this.runNow(name);
    }
  }

  /** Runs the groups that combine a check whose confirmed condition changed, here or elsewhere. */
  runGroupsOf(name: string): void {
    this.#runGroups(this.#groups.get(name) ?? []);
  }

  /** Runs the groups that combine a check whose condition is known again, once those of its other checks are. */
  #runKnownGroupsOf(name: string): void {
    const isKnown = (check: string): boolean => (this.#conditionOf(check)?.state ?? "current") === "current";
    this.#runGroups((this.#groups.get(name) ?? []).filter((group) => {
      const check = this.#active.get(group);
      return check !== undefined && combinedChecks(check).every(isKnown);
    }));
  }

  #runGroups(groups: readonly string[]): void {
    for (const group of groups) {
      const slot = this.#slots.get(group);
      if (slot === undefined) continue;
      if (slot.task.state.status === "idle") this.#happen(slot, { event: "requested" });
      else this.#changed.add(group);
    }
  }

  /**
   * Starts no more runs, waits for those in progress, aborts them after a grace period, and writes everything. Returns
   * the checks whose run was aborted without a result; a check that was only queued is none of them.
   */
  async stop(graceMs: number): Promise<readonly string[]> {
    this.#isStopping = true;
    for (const cancel of this.#timers) cancel();
    for (const { cancelTimer } of this.#slots.values()) cancelTimer?.();
    this.#abortRuns((task) => !hasStarted(task));
    const all = Promise.all(this.#runs);
    await endsWithin(this.#options.system.clock, graceMs, all);
    this.#abortRuns(() => true);
    this.#stopped.abort(new Error("Stopped"));
    await all;
    // Actions that results of these began.
    await Promise.all(this.#runs);
    this.#limited.end();
    await this.#options.repository.flush();
    await this.#sending;
    return this.#unfinished;
  }

  #abortRuns(isMeant: (task: Task) => boolean): void {
    for (const { task, abort } of this.#slots.values()) if (isMeant(task)) abort?.abort(new Error("Stopped"));
  }

  #adopt(config: ScheduledConfig): void {
    this.#config = config;
    this.#common = this.#commonTo(config);
    const names = new Map(config.checks.map((check) => [check.name, check]));
    this.#active = names;
    this.#groups = new Map();
    for (const check of config.checks) {
      for (const name of combinedChecks(check)) {
        this.#groups.set(name, [...this.#groups.get(name) ?? [], check.name]);
      }
    }
    for (const [name, slot] of this.#slots) {
      if (!names.has(name)) this.#happen(slot, { event: "removed" });
      else if (slot.task.state.status !== "running") this.#giveAway(slot);
    }
    const added: Check[] = [];
    for (const check of config.checks) {
      if (!this.#share.runs(check.name)) continue;
      const slot = this.#slots.get(check.name);
      if (slot === undefined) added.push(check);
      else this.#happen(slot, { event: "reloaded", check });
    }
    this.#add(added);
    // A group is not ok any more by a check that was edited, whatever its own interval is.
    const isGroup = (check: Check): boolean => combinedChecks(check).length > 0;
    this.#runGroups(
      config.checks.flatMap((check) =>
        isGroup(check) && isEdited(check, this.#recordOf(check.name)) ? [check.name] : []
      ),
    );
  }

  /** Ends with a check that runs elsewhere now. */
  #giveAway(slot: Slot): void {
    if (!this.#share.runs(slot.task.check.name)) this.#happen(slot, { event: "removed" });
  }

  /** Plans new checks; those that are overdue run before those that never ran. */
  #add(checks: readonly Check[]): void {
    const nowMs = this.#time.nowMs();
    const isBehindOverdue = checks.some(({ name }) =>
      (this.#recordOf(name).nextRunAtMs ?? Infinity) <= nowMs
    );
    for (const check of checks) {
      const record = this.#recordOf(check.name);
      const next = createTask(check, { record, nowMs, isBehindOverdue });
      const slot: Slot = { task: next.task, cancelTimer: null, wake: () => this.#wake(slot), abort: null };
      this.#slots.set(check.name, slot);
      this.#carryOut(slot, next);
    }
  }

  #recordOf(name: string): CheckRecord {
    return this.#options.repository.recordOf(name, this.#time.nowMs());
  }

  #happen(slot: Slot, event: TaskEvent): TaskTransition {
    const { task } = slot;
    const context = { nowMs: this.#time.nowMs(), record: this.#recordOf(task.check.name) };
    const next = transitionTask(task, event, context);
    this.#carryOut(slot, next);
    return next;
  }

  #carryOut(slot: Slot, { task, effects }: TaskTransition): void {
    slot.task = task;
    for (const effect of effects) this.#perform(slot, effect);
  }

  #perform(slot: Slot, effect: TaskEffect): void {
    const { name } = slot.task.check;
    switch (effect.effect) {
      case "plan":
        return this.#plan(slot, effect.atMs);
      case "start":
        return this.#start(slot);
      case "abort":
        return slot.abort?.abort(new Error(effect.reason));
      case "report_late":
        return this.#reportLate(name, effect.lateMs);
      case "forget":
        slot.cancelTimer?.();
        this.#slots.delete(name);
        this.#suppressed.removed(name);
    }
  }

  #plan(slot: Slot, atMs: number): void {
    slot.cancelTimer?.();
    if (this.#isStopping) return;
    slot.cancelTimer = this.#options.system.clock.after(atMs - this.#time.nowMs(), slot.wake);
  }

  #wake(slot: Slot): void {
    const fired = slot.cancelTimer;
    try {
      this.#followClock();
      // A clock jump that was noticed just now may have planned another time.
      if (slot.cancelTimer === fired) this.#happen(slot, { event: "due" });
    } catch (error) {
      this.#options.onBug(error);
    }
  }

  #request(slot: Slot): void {
    const { name } = slot.task.check;
    const refreshed = this.#options.runner?.refresh?.(slot.task.check) ?? null;
    if (refreshed === null) return void this.#happen(slot, { event: "requested" });
    refreshed.then(() => this.decideNow(name)).catch(this.#options.onBug);
  }

  #start(slot: Slot): void {
    const abort = createAbort();
    slot.abort = abort;
    const run = this.#run(slot, abort.signal).catch(this.#options.onBug).finally(() =>
      this.#runs.delete(run)
    );
    this.#runs.add(run);
  }

  async #run(slot: Slot, signal: AbortSignal): Promise<void> {
    const { name } = slot.task.check;
    const result = await this.#observe(slot, signal);
    // Another process may have silenced the check meanwhile.
    if (result !== null && (result.condition !== "ok" || hasProblem(this.#recordOf(name).condition))) {
      await this.#options.engine.refresh();
    }
    this.#followClock();
    slot.abort = null;
    const { state } = slot.task;
    if (result === null && this.#isStopping && hasStarted(slot.task)) this.#unfinished.push(name);
    if (result !== null && state.status === "running") this.#record(slot, result, state);
    else this.#happen(slot, { event: "ended" });
    if (slot.task.state.status === "idle") this.#giveAway(slot);
    if (this.#changed.delete(name)) this.#happen(slot, { event: "requested" });
  }

  /** Runs a check in its turn; `null` if the run was aborted. */
  #observe(slot: Slot, signal: AbortSignal): Promise<Result | null> {
    const { check } = slot.task;
    return this.#limited.run(check, {
      ...this.#common,
      signal,
      onStart: () => {
        signal.throwIfAborted();
        this.#happen(slot, { event: "started" });
      },
      onStall: (stalledMs) => this.#reportStall(check.name, stalledMs),
    });
  }

  #emit(event: SchedulerEvent): void {
    this.#options.onEvent(event);
    for (const listener of this.#listeners) listener(event);
  }

  #record(
    slot: Slot,
    observed: Result,
    { plannedMs, lateMs }: { readonly plannedMs: number; readonly lateMs: number },
  ): void {
    const { check, missedRuns } = slot.task;
    // A reload may have changed the effect of a check result, for example by the threshold.
    const result = observed.check === check ? observed : { ...observed, check };
    const nowMs = this.#time.nowMs();
    const record = this.#recordOf(check.name);
    const { condition: { observedAtMs } } = record;
    if (isRepeated(result, record)) {
      const { atMs } = nextRunAfter(check, { state: record.condition, plannedMs, nowMs });
      return void this.#happen(slot, { event: "recorded", nextRunAtMs: atMs });
    }
    this.#keep(slot, result, {
      run: {
        lateMs: Math.max(0, lateMs),
        isAfterGap: isAfterGap(check, record, nowMs),
        isInterrupted: isEdited(check, record) ||
          observedAtMs !== null && (observedAtMs < this.#resumedAtMs || observedAtMs > nowMs),
        plan: (state) => {
          const next = nextRunAfter(check, { state, plannedMs, nowMs });
          return withOverdue(check, state, { ...next, missed: next.missed + missedRuns });
        },
      },
      atMs: nowMs,
      nowMs,
    });
  }

  /** Records the result of a run that ended at a time, and does what follows. */
  #keep(
    slot: Slot,
    result: Result,
    { run, atMs, nowMs }: {
      readonly run: Omit<Run, "result">;
      readonly atMs: number;
      readonly nowMs: number;
    },
  ): void {
    const { engine, onBug } = this.#options;
    const { check } = result;
    const before = this.#conditionOf(check.name);
    const record = this.#recordOf(check.name);
    const { confirmed } = record.condition;
    const entry = engine.record({ ...run, result }, atMs, nowMs - atMs);
    const { nextRunAtMs, overdueAtMs } = entry.record;
    // What an agent runs is looked at once it is overdue.
    const nextAtMs = result.report === undefined
      ? nextRunAtMs ?? nowMs
      : Math.max(nowMs, overdueAtMs ?? nowMs) + 1;
    this.#happen(slot, { event: "recorded", nextRunAtMs: nextAtMs });
    this.#emit({ event: "result", result: entry.result ?? result, entry, lateMs: run.lateMs ?? 0 });
    this.#send(entry);
    this.#suppressed.recorded(check, entry).catch(onBug);
    this.#runOthers(record, entry).catch(onBug);
    if (before?.state !== "current") this.#runKnownGroupsOf(check.name);
    else if (entry.record.condition.confirmed !== confirmed) this.runGroupsOf(check.name);
  }

  /** Runs checks at once that may have the same cause; those of other members once their results are read. */
  async #runOthers(before: CheckRecord, entry: Decided): Promise<void> {
    const { engine } = this.#options;
    const request = (isMeant: (name: string) => boolean): void => {
      const names = engine.othersToRun(before, entry, this.#time.nowMs());
      for (const name of names.filter(isMeant)) this.request(name);
    };
    request(() => true);
    const attributes = engine.attributesToRead(before, entry);
    if (attributes.length === 0 || this.#share.readRelated === undefined) return;
    await this.#share.readRelated({ attributes });
    request((name) => !this.owns(name));
  }

  #commonTo(
    { directory, timeZone, redact, connectivity = null, commonCauses = false }: ScheduledConfig,
  ): Omit<RunOptions, "signal"> {
    return {
      system: withoutSecrets(this.#options.system, redact),
      jobs: this.#options.jobs,
      notifies: this.#options.engine.notifies,
      takeAsked: (name) => this.#asked.delete(name),
      undelivered: (token) => this.#options.engine.undelivered(token),
      reports: this.#options.reports ?? null,
      conditionOf: this.#conditionOf,
      connectivity: connectivityOf({ connectivity }, this.#network),
      ...commonCauses && {
        attributes: this.#attributes,
        attributesOf: (check) => lastAttributes(check, this.#recordOf(check.name)),
      },
      ...this.#options.jobs !== null && { memoryOf: (name) => this.#recordOf(name).last?.memory ?? null },
      traceOf: (check) => mayConfirmProblem(check, this.#recordOf(check.name)) ? "brief" : null,
      steps: this.#options.steps,
      directory,
      timeZone,
      redact,
    };
  }

  readonly #conditionOf = (name: string): KnownCondition | null => {
    const check = this.#active.get(name);
    if (check === undefined) return null;
    const record = asHeard(check, this.#recordOf(name), (other) => this.#recordOf(other));
    return conditionOf(check, record, this.#time.nowMs());
  };

  /** Sends a notification once it is written, or the store was found unable to write it. */
  #send(entry: Decided): void {
    const { engine, onBug } = this.#options;
    const { notification } = entry;
    const written = this.#writing.recorded();
    if (entry.action !== null) this.#act(entry.record.name, entry.action, written);
    if (notification === null && entry.queued.length === 0) return void written.catch(onBug);
    this.#sending = Promise.all([this.#sending, written]).then(() => {
      if (notification !== null) this.#emit({ event: "notification", notification });
      engine.send(entry);
    }).catch(onBug);
  }

  /** Runs the action of a check once it is written, and then the check once it may have helped. */
  #act(name: string, begun: ActionRun, written: Promise<void>): void {
    const { repository, limiters, onBug } = this.#options;
    const check = this.#active.get(name);
    if (check?.action === undefined) return;
    const { settleMs } = check.action;
    const { signal } = this.#stopped;
    const run = written.then(async () => {
      this.#emit({ event: "action", check, run: begun });
      const ended = await limiters.process(
        () => runAction(check, begun, { ...this.#common, repository, signal }),
        signal,
      );
      if (ended === null) return;
      this.#emit({ event: "action", check, run: ended });
      this.#after(settleMs, () => this.request(name));
      await this.#writing.recorded();
    }).catch((error) => signal.aborted ? undefined : onBug(error)).finally(() => this.#runs.delete(run));
    this.#runs.add(run);
  }

  #createSuppressed(): SuppressedChecks {
    return new SuppressedChecks({
      engine: this.#options.engine,
      nowMs: () => this.#time.nowMs(),
      checkOf: (name) => {
        const task = this.#slots.get(name)?.task;
        const isScheduled = !this.#isStopping && task !== undefined && task.state.status !== "removed";
        return isScheduled ? task.check : null;
      },
      request: (name) => this.request(name),
      send: (entry) => this.#send(entry),
    });
  }

  #wakeNowAndThen(): void {
    this.#after(WAKE_EVERY_MS, () => {
      this.#wakeNowAndThen();
      this.#suppressed.review().catch(this.#options.onBug);
    });
  }

  #after(delayMs: number, callback: () => void): () => void {
    if (this.#isStopping) return () => {};
    const end = this.#options.system.clock.after(delayMs, () => {
      this.#timers.delete(cancel);
      try {
        this.#followClock();
        callback();
      } catch (error) {
        this.#options.onBug(error);
      }
    });
    const cancel = (): void => {
      this.#timers.delete(cancel);
      end();
    };
    this.#timers.add(cancel);
    return cancel;
  }

  /** Follows the wall clock if it was set or the system was suspended. */
  #followClock(): void {
    const jumpMs = this.#time.catchUp();
    if (jumpMs === 0) return;
    let discarded = 0;
    for (const slot of this.#slots.values()) {
      const { effects } = this.#happen(slot, { event: "clock_jumped", jumpMs });
      if (effects.some(({ effect }) => effect === "abort")) discarded++;
    }
    // If the clock was set back, the system was not suspended, but the results are as doubtful.
    if (Math.abs(jumpMs) > JUMP_MS) {
      this.#resumedAtMs = this.#time.nowMs();
      // Of a shared state, other members ran the checks meanwhile.
      if (jumpMs > 0 && this.#share === ALL_WORK) {
        this.#options.repository.settle(this.#resumedAtMs - jumpMs);
      }
      this.#emit({ event: "clock_jumped", forMs: jumpMs, discarded });
    }
  }
}
