/**
 * The service without its machine: results come from a scenario, and time from a virtual clock. What is decided, and
 * when, is decided by the parts of the service itself: the schedule, the engine and the queues.
 *
 * Runs take no time. Of what comes at one moment, timers are first, then what the scenario does, then checks in the order of the
 * config. Runs that change nothing but counts are left out (`skipped_runs.ts`): before anything reads the record of a
 * check, the runs that were left out until then are added to it.
 */
import { conditionOf, isAfterGap } from "../engine/check_status.ts";
import type { NotifyingConfig } from "../engine/configured_channels.ts";
import type { Decided } from "../engine/decide.ts";
import { Engine } from "../engine/engine.ts";
import { BATCHING_DELAY_MS, type Sender, startSender } from "../engine/sender.ts";
import { entriesOf } from "../checks/registry.ts";
import { hasProblem } from "../condition/condition_state.ts";
import type { Channel, SummarySettings } from "../domain/channel.ts";
import {
  type Check,
  type CheckResult,
  combinedChecks,
  dependencyNames,
  invertResult,
  type Result,
} from "../domain/check.ts";
import { withEndedAction } from "../condition/action.ts";
import type { ActionRun, ConditionState } from "../domain/condition.ts";
import type { KnownCondition } from "../domain/check_kind.ts";
import type { Delivery, Message } from "../domain/delivery.ts";
import type { Silence } from "../domain/outbox.ts";
import type { CheckRecord, Store } from "../domain/store.ts";
import type { System } from "../domain/system.ts";
import { firstRun, nextRunAfter, withOverdue } from "../scheduler/next_run.ts";
import { SuppressedChecks } from "../scheduler/suppressed_checks.ts";
import { queueDueSummary } from "../outputs/summary/gather_summary.ts";
import { MINUTE_MS } from "../shared/time_units.ts";
import { EarliestFirst, type Timed } from "../shared/earliest_first.ts";
import { openStateRepository, type StateRepository } from "../state/state_repository.ts";
import { bareUpdate } from "../state/write_behind.ts";
import {
  afterSkipped,
  decidesAgainMs,
  quietUntilMs,
  runsBefore,
  type RunSpan,
  type SkippedRuns,
} from "./skipped_runs.ts";
import type { VirtualClock } from "./rehearsal_world.ts";

export interface RehearsedServiceOptions {
  readonly config: NotifyingConfig;
  /** The machine, with the virtual clock. */
  readonly system: System & { readonly clock: VirtualClock };
  readonly store: Store;
  /** `null`: none is sent. */
  readonly summary: SummarySettings | null;
  /** The result of a check that looks at a target. */
  resultOf(check: Check, atMs: number): CheckResult & Partial<Pick<Result, "durationMs" | "attributes">>;
  /** When the result of a check changes next, after a time; `Infinity`: it does not. */
  nextChangeMs(check: Check, afterMs: number): number;
  /** The recorded runs of checks, which replace their schedules. @default none */
  readonly recorded?: RecordedRuns;
  /** Receives each decision. @default none */
  onDecided?(entry: Decided): void;
  deliver(message: Message, channel: Channel): Delivery;
  /** Whether runs that change nothing are left out. @default true */
  readonly skips?: boolean;
}

export interface RecordedRuns {
  /**
   * Whether it includes the notifications that were decided without a result. Then these are decided at their recorded
   * times instead of every 30 s, checks run exactly at their recorded times, and groups have their recorded results.
   */
  readonly hasReviews: boolean;
  has(check: string): boolean;
  /** Returns the first run of a check after a time; `null`: there is none. */
  runAfter(
    check: string,
    afterMs: number,
  ): { readonly atMs: number; readonly isAfterGap: boolean; readonly isInterrupted: boolean } | null;
  /** Returns the runs from one on and before a time that have the same result. */
  runsBefore(check: string, span: RunSpan): SkippedRuns;
  /** Returns whether the entry of `runAfter` at a time is a decision without a result, not a run. */
  isReview(check: string, atMs: number): boolean;
}

/** A suppressed notification is decided again so often, as by the scheduler. */
const REVIEW_EVERY_MS = 30_000;

/** A planned run, or a decision without a result. */
interface Plan extends Timed {
  readonly slot: Slot;
}

interface Slot {
  readonly check: Check;
  readonly order: number;
  /** The checks that it depends on or combines. */
  readonly reads: readonly string[];
  /** Its recorded runs; `null`: it follows its schedule. */
  readonly recorded: RecordedRuns | null;
  /** Its next run; `null`: there is none until something else happens. */
  plan: Plan | null;
  /** The first run that is left out until then; `null`: none is. */
  skippedFromMs: number | null;
  /** When the time alone may change what is due of its problem. */
  decidesAgainMs: number;
}

/** One process of the service; a restart makes another one on the same store. */
export class RehearsedService {
  readonly #options: RehearsedServiceOptions;
  readonly #repository: StateRepository;
  readonly #sender: Sender;
  readonly #engine: Engine;
  readonly #suppressed: SuppressedChecks;
  readonly #slots: ReadonlyMap<string, Slot>;
  readonly #plans = new EarliestFirst<Plan>();
  /** By the name of a check, those that depend on it or combine it. */
  readonly #readers: ReadonlyMap<string, readonly Slot[]>;
  readonly #startMs: number;
  readonly #entryOf: Awaited<ReturnType<typeof entriesOf>>;
  /** When suppressed notifications are decided again; wall time. */
  #reviewAtMs = Infinity;
  #silences: readonly Silence[] = [];
  readonly #bugs: unknown[] = [];
  #cancelSummary = (): void => {};
  /** Resolves when all that was decided without a run is sent. */
  #sending: Promise<unknown> = Promise.resolve();
  /** The checks with a confirmed problem. */
  readonly #failing = new Set<Slot>();

  /** Starts one with the records of its store. */
  static async start(
    options: RehearsedServiceOptions,
    ranUntilMs: number | null = null,
  ): Promise<RehearsedService> {
    const { config: { running }, store } = options;
    const repository = await openStateRepository({
      store,
      ranUntilMs,
      onFailure: (error) => {
        if (error !== null) throw error;
      },
      reopen: (error) => Promise.reject(error),
    });
    const groups = running.filter((check) => combinedChecks(check).length > 0);
    const service = new RehearsedService(options, {
      repository,
      kept: await store.outbox(),
      entryOf: await entriesOf(groups),
    });
    await service.#summarize();
    await service.acted();
    return service;
  }

  private constructor(options: RehearsedServiceOptions, { repository, kept, entryOf }: {
    readonly repository: StateRepository;
    readonly kept: Awaited<ReturnType<Store["outbox"]>>;
    readonly entryOf: Awaited<ReturnType<typeof entriesOf>>;
  }) {
    const { config, system, recorded, deliver } = options;
    const { clock } = system;
    const nowMs = clock.wallMs();
    this.#options = options;
    this.#repository = repository;
    this.#entryOf = entryOf;
    this.#startMs = nowMs;
    this.#slots = new Map(config.running.map((check, order): [string, Slot] => {
      const reads = [...dependencyNames(check), ...combinedChecks(check)];
      return [check.name, {
        ...{ check, order, reads, plan: null, skippedFromMs: null, decidesAgainMs: Infinity },
        recorded: recorded?.has(check.name) === true ? recorded : null,
      }];
    }));
    const readers = Map.groupBy(
      [...this.#slots.values()].flatMap((slot) => slot.reads.map((name) => ({ name, slot }))),
      ({ name }) => name,
    );
    this.#readers = new Map([...readers].map(([name, all]) => [name, all.map(({ slot }) => slot)]));
    const onBug = (error: unknown): void => void this.#bugs.push(error);
    this.#sender = startSender(config, {
      system,
      repository,
      kept,
      notifies: true,
      batchingMs: BATCHING_DELAY_MS,
      writeLine: () => {},
      deliver: (channel, message) => Promise.resolve(deliver(message, channel)),
      onEvent: ({ notifications }) => {
        for (const { notification: { check } } of notifications) this.#wake(this.#slots.get(check));
        this.#reviewSoon(clock.wallMs() - 1);
      },
      onBug,
    });
    this.#engine = new Engine(config.running, {
      repository,
      sender: this.#sender,
      newId: system.randomId,
      hostName: system.hostName(),
      commonCauses: config.commonCauses,
    });
    this.#suppressed = new SuppressedChecks({
      engine: this.#engine,
      nowMs: () => clock.wallMs(),
      checkOf: (name) => this.#slots.get(name)?.check ?? null,
      request: (name) => this.#request(this.#slots.get(name)),
      send: (entry) => {
        this.#wake(this.#slots.get(entry.record.name));
        this.#sending = Promise.all([this.#sending, this.#send(entry)]);
      },
    });
    // Those that are overdue run before those that never ran.
    const firsts = [...this.#slots.values()].map((slot) => ({
      slot,
      record: repository.recordOf(slot.check.name, nowMs),
    }));
    const isBehindOverdue = firsts.some(({ record }) => (record.nextRunAtMs ?? Infinity) <= nowMs);
    for (const { slot, record } of firsts) {
      this.#plan(
        slot,
        slot.recorded === null
          ? firstRun(slot.check, { record, nowMs, isBehindOverdue })
          : slot.recorded.runAfter(slot.check.name, nowMs - 1)?.atMs ?? Infinity,
      );
    }
  }

  /** Moves time on, up to what happens by a timer at a moment, and without the runs at it. */
  async advance(untilMs: number): Promise<void> {
    const { clock } = this.#options.system;
    for (;;) {
      const [bug] = this.#bugs;
      if (bug !== undefined) throw bug;
      const next = this.#nextPlan();
      const atMs = Math.min(next?.atMs ?? Infinity, this.#reviewAtMs);
      if (clock.nextMs <= Math.min(atMs, untilMs)) await clock.fireNext();
      else if (atMs >= untilMs) return clock.moveTo(untilMs);
      else {
        clock.moveTo(atMs);
        if (this.#reviewAtMs <= atMs) await this.#review();
        else if (next !== null) await this.#run(next);
      }
    }
  }

  /** Makes the store complete, so that a command of an administrator can read it. */
  async persist(): Promise<void> {
    for (const slot of this.#slots.values()) this.#catchUp(slot);
    await this.#repository.flush();
  }

  /** Follows what an administrator has changed in the store. */
  async acted(): Promise<void> {
    this.#silences = await this.#options.store.silences(this.#nowMs);
    for (const slot of this.#slots.values()) this.#wake(slot);
    await this.#engine.refresh();
    this.#reviewSoon(this.#nowMs - 1);
  }

  /** Ends it as a service ends that is stopped: it tries to send what is pending, and no more. */
  async stop(): Promise<void> {
    const { system } = this.#options;
    this.#cancelSummary();
    await this.persist();
    await this.#sender.drain(system.clock.wallMs() + MINUTE_MS);
    await this.#sender.stop();
    await system.settle();
  }

  async #summarize(): Promise<void> {
    const { summary: settings, system, config: { running: checks } } = this.#options;
    if (settings === null) return;
    const { clock } = system;
    const [repository, sender] = [this.#repository, this.#sender];
    await queueDueSummary({ settings, checks, repository, sender, system, shared: null });
    this.#cancelSummary = clock.after(settings.times.after(clock.wallMs()) - clock.wallMs(), () => {
      this.#summarize().catch((error) => this.#bugs.push(error));
    });
  }

  #plan(slot: Slot, atMs: number): void {
    // A decision without a result comes after the runs that may have caused it.
    const order = slot.recorded?.isReview(slot.check.name, atMs) === true ? Infinity : slot.order;
    slot.plan = atMs === Infinity ? null : { atMs, order, slot };
    if (slot.plan !== null) this.#plans.add(slot.plan);
  }

  #nextPlan(): Plan | null {
    for (let { first } = this.#plans; first !== undefined; { first } = this.#plans) {
      if (first.slot.plan === first) return first;
      this.#plans.take(first.atMs);
    }
    return null;
  }

  /** Adds the runs that were left out until now; of this moment, those of checks before another one. */
  #catchUp(slot: Slot, order = -1): void {
    const { check, skippedFromMs } = slot;
    if (skippedFromMs === null) return;
    const record = this.#recordOf(check.name);
    const { condition: state } = record;
    const skipped = this.#runsBefore(slot, state, {
      ...{ fromMs: skippedFromMs, beforeMs: this.#nowMs },
      isIncluded: slot.order < order,
    });
    if (skipped.count === 0) return;
    slot.skippedFromMs = skipped.nextMs;
    const { lastMs } = skipped;
    // The planned run follows the schedule, even if the recorded run had another time.
    const { atMs } = nextRunAfter(check, { state, plannedMs: lastMs, nowMs: lastMs });
    this.#repository.keep(bareUpdate(afterSkipped(check, record, { ...skipped, nextMs: atMs })));
  }

  /** Returns the next run of a check after a run, by its schedule or its recorded runs. */
  #nextMs({ check, recorded }: Slot, afterMs: number, scheduledMs: number): number {
    if (recorded === null) return scheduledMs;
    const next = recorded.runAfter(check.name, afterMs);
    if (next === null) return Infinity;
    // A new config may run it earlier, with the next recorded result. In a gap, there is no data.
    const isEarlier = !recorded.hasReviews && !next.isAfterGap &&
      scheduledMs - afterMs < EARLIER_SHARE * (next.atMs - afterMs);
    return isEarlier ? scheduledMs : next.atMs;
  }

  #runsBefore({ check, recorded }: Slot, state: ConditionState, span: RunSpan): SkippedRuns {
    return recorded?.runsBefore(check.name, span) ?? runsBefore(check, state, span);
  }

  /** Leaves out no more runs of a check. */
  #wake(slot: Slot | undefined, order?: number): void {
    if (slot === undefined || slot.skippedFromMs === null) return;
    this.#catchUp(slot, order);
    this.#plan(slot, slot.skippedFromMs);
    slot.skippedFromMs = null;
  }

  /** Runs a check at once. */
  #request(slot: Slot | undefined, order?: number): void {
    if (slot === undefined || slot.recorded !== null) return;
    this.#wake(slot, order);
    this.#plan(slot, this.#nowMs);
  }

  get #hasReviews(): boolean {
    return this.#options.recorded?.hasReviews === true;
  }

  /** Decides again at the next time at which a scheduler does; runs come after it, all else before it. */
  #reviewSoon(fromMs = this.#nowMs): void {
    if (this.#hasReviews) return;
    const rounds = Math.floor((fromMs - this.#startMs) / REVIEW_EVERY_MS) + 1;
    this.#reviewAtMs = Math.min(this.#reviewAtMs, this.#startMs + rounds * REVIEW_EVERY_MS);
  }

  async #review(): Promise<void> {
    const { skips = true } = this.#options;
    const nowMs = this.#nowMs;
    this.#reviewAtMs = Infinity;
    this.#readFailing();
    await this.#suppressed.review();
    await this.#sending;
    if (!skips) return this.#reviewSoon();
    for (const slot of this.#failing) {
      if (slot.decidesAgainMs <= nowMs) this.#decideLater(slot);
      else if (slot.decidesAgainMs < Infinity) this.#reviewSoon(slot.decidesAgainMs - 1);
    }
  }

  /** Notes when the time alone may change what is due of a check. */
  #decideLater(slot: Slot): void {
    const { condition } = this.#recordOf(slot.check.name);
    const isFailing = hasProblem(condition);
    if (isFailing) this.#failing.add(slot);
    else this.#failing.delete(slot);
    slot.decidesAgainMs = isFailing
      ? decidesAgainMs(slot.check, condition, { silences: this.#silences, nowMs: this.#nowMs })
      : Infinity;
    if (slot.decidesAgainMs < Infinity) this.#reviewSoon(slot.decidesAgainMs - 1);
  }

  /** Adds what was left out of everything that a decision about suppressed notifications reads. */
  #readFailing(order?: number): void {
    for (const slot of this.#failing) {
      this.#catchUp(slot, order);
      for (const name of slot.reads) this.#readAt(name, order);
    }
  }

  async #run({ slot, order, atMs: plannedMs }: Plan): Promise<void> {
    const { resultOf } = this.#options;
    const { check, recorded } = slot;
    const { name } = check;
    const nowMs = this.#nowMs;
    this.#catchUp(slot);
    slot.skippedFromMs = null;
    for (const read of slot.reads) this.#readAt(read, order);
    if (recorded?.isReview(name, plannedMs) === true) {
      await this.#engine.refresh();
      await this.#send(this.#engine.review(check, nowMs));
      return this.#plan(slot, this.#nextMs(slot, plannedMs, nowMs));
    }
    const result = combinedChecks(check).length > 0 ? await this.#observeGroup(check) : null;
    const observed = this.#hasReviews
      ? { ...resultOf(check, nowMs), ...result !== null && { recoveredAtMs: result.recoveredAtMs } }
      : result ?? resultOf(check, nowMs);
    const before = this.#recordOf(name);
    if (observed.condition !== "ok" || hasProblem(before.condition)) await this.#engine.refresh();
    const knownBefore = conditionOf(check, before, nowMs);
    const { observedAtMs, confirmed } = before.condition;
    const next = recorded?.runAfter(name, plannedMs - 1);
    const past = next?.atMs === plannedMs ? next : null;
    const entry = this.#engine.record({
      result: { check, durationMs: 0, ...observed, startedAtMs: nowMs },
      lateMs: 0,
      isAfterGap: past?.isAfterGap ?? isAfterGap(check, before, nowMs),
      isInterrupted: past?.isInterrupted ?? (observedAtMs !== null && observedAtMs < this.#startMs),
      plan: (state) => withOverdue(check, state, nextRunAfter(check, { state, plannedMs, nowMs })),
    }, nowMs);
    this.#plan(slot, this.#nextMs(slot, plannedMs, entry.record.nextRunAtMs ?? nowMs));
    await this.#send(entry);
    const readers = this.#readers.get(name) ?? [];
    if (readers.length > 0) this.#readFailing(order);
    if (!this.#hasReviews) await this.#suppressed.recorded(check, entry);
    await this.#sending;
    this.#runOthers(slot, before, entry);
    const { condition } = entry.record;
    if (knownBefore.state !== "current") this.#runGroups(slot, true);
    else if (condition.confirmed !== confirmed) this.#runGroups(slot, false);
    if (condition.confirmed !== confirmed || condition.observed !== before.condition.observed) {
      for (const reader of readers) this.#wake(reader, order);
      this.#reviewSoon();
    }
    this.#decideLater(slot);
    if (observed.awaits === undefined) this.#skip(slot, entry);
  }

  /** Runs the checks at once that may have a cause in common with a check, and each that shares a suspect once more. */
  #runOthers(slot: Slot, before: CheckRecord, entry: Decided): void {
    const { attributes } = this.#repository;
    const suspected = [before, entry.record].map(({ last }) => last?.attributes?.suspected ?? []);
    if (suspected.every((some) => some.length === 0)) return;
    if (suspected.some((some) => some.length === 0)) {
      for (const name of new Set(suspected.flat().flatMap((one) => [...attributes.checksWith(one)]))) {
        this.#wake(this.#slots.get(name), slot.order);
      }
    }
    for (const name of this.#engine.othersToRun(before, entry, this.#nowMs)) {
      this.#request(this.#slots.get(name));
    }
  }

  /** Leaves out the runs from now on that change nothing. */
  #skip(slot: Slot, entry: Decided): void {
    const { skips = true, nextChangeMs } = this.#options;
    const { check } = slot;
    const nowMs = this.#nowMs;
    const fromMs = slot.plan?.atMs ?? nowMs;
    // It was requested meanwhile.
    if (!skips || fromMs <= nowMs) return;
    const { condition } = entry.record;
    const beganMs = condition.problemBeganAtMs ?? -Infinity;
    // The next run of a check that it depends on may end the suppression.
    const isAwaited = (name: string): boolean =>
      this.#slots.has(name) && (this.#recordOf(name).condition.observedAtMs ?? -Infinity) < beganMs;
    if (slot.reads.some(isAwaited)) return;
    if (combinedChecks(check).some((name) => this.#conditionOf(name)?.state !== "current")) return;
    const untilMs = Math.min(
      quietUntilMs(check, entry, { silences: this.#silences, nowMs }),
      nextChangeMs(check, nowMs),
    );
    if (untilMs <= fromMs) return;
    slot.skippedFromMs = fromMs;
    this.#plan(
      slot,
      untilMs === Infinity
        ? Infinity
        : this.#runsBefore(slot, condition, { fromMs, beforeMs: untilMs }).nextMs,
    );
  }

  /** Adds the runs of a check that were left out before a run of another one. */
  #readAt(name: string, order?: number): void {
    const slot = this.#slots.get(name);
    if (slot !== undefined) this.#catchUp(slot, order);
  }

  get #nowMs(): number {
    return this.#options.system.clock.wallMs();
  }

  #recordOf(name: string): CheckRecord {
    return this.#repository.recordOf(name, this.#nowMs);
  }

  async #observeGroup(check: Check): Promise<CheckResult> {
    const { system, config: { directory } } = this.#options;
    const result = await this.#entryOf(check).observe(check, {
      ...{ system, jobs: null, directory, signal: NEVER_ABORTED },
      conditionOf: (name) => this.#conditionOf(name),
    });
    return check.invert ? invertResult(result) : result;
  }

  #conditionOf(name: string): KnownCondition | null {
    const check = this.#slots.get(name)?.check;
    return check === undefined ? null : conditionOf(check, this.#recordOf(name), this.#nowMs);
  }

  /** Runs the groups that combine a check; if its condition is known again, once those of all their checks are. */
  #runGroups({ check: { name }, order }: Slot, isKnownAgain: boolean): void {
    for (const group of this.#readers.get(name) ?? []) {
      const combined = combinedChecks(group.check);
      // It may depend on the check.
      if (!combined.includes(name)) continue;
      for (const member of combined) this.#readAt(member, order);
      const isKnown = (member: string): boolean =>
        (this.#conditionOf(member)?.state ?? "current") === "current";
      if (!isKnownAgain || combined.every(isKnown)) this.#request(group, order);
    }
  }

  /** Lets an action succeed at once, whatever comes of it, and runs the check once it may have helped. */
  #act(slot: Slot, begun: ActionRun): void {
    const { clock } = this.#options.system;
    const record = this.#recordOf(slot.check.name);
    const ended: ActionRun = { ...begun, endedAtMs: this.#nowMs, outcome: "succeeded" };
    this.#repository.keep(bareUpdate({ ...record, condition: withEndedAction(record.condition, ended) }));
    clock.after(slot.check.action?.settleMs ?? 0, () => this.#request(slot));
  }

  /** Sends the notifications of a decision once they are stored. */
  async #send(entry: Decided): Promise<void> {
    this.#options.onDecided?.(entry);
    const { record: { name }, action } = entry;
    const slot = this.#slots.get(name);
    if (action !== null && slot !== undefined) this.#act(slot, action);
    if (entry.notification === null && !this.#repository.isUrgent) return;
    await this.#repository.flush();
    if (entry.notification !== null) this.#engine.send(entry);
  }
}

/** A run planned before this share of the time until the next recorded run is an additional one. */
const EARLIER_SHARE = 2 / 3;

const NEVER_ABORTED = new AbortController().signal;
