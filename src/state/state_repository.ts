import { initialState } from "../condition/condition_state.ts";
import { type Check, combinedChecks } from "../domain/check.ts";
import type { QueuedNotification } from "../domain/outbox.ts";
import type { CheckRecord, CheckUpdate, PruneProgress, Store } from "../domain/store.ts";
import { settleRecord } from "./availability.ts";
import { type AttributeIndex, RecordCache } from "./record_cache.ts";
import { ReplaceableStore, type ReplaceableStoreOptions } from "./replaceable_store.ts";
import { bareUpdate, WriteBehindBuffer } from "./write_behind.ts";
import { HOUR_MS } from "../shared/time_units.ts";

/** The parts of a config that pruning needs. */
export interface KeptConfig {
  readonly checks: readonly Check[];
  /** How long results are kept; `null`: the default. @default 90 days */
  readonly retentionMs?: number | null;
}

interface StateRepositoryOptions extends ReplaceableStoreOptions {
  /** When the service ended that ran before; wall time. @default null, none is known */
  readonly ranUntilMs?: number | null;
}

/**
 * Reads a store and makes its repository.
 *
 * @throws {StoreError} If the store can't be read, or no replacement of a damaged one can be opened.
 */
export async function openStateRepository(options: StateRepositoryOptions): Promise<StateRepository> {
  const store = new ReplaceableStore(options);
  return new StateRepository(store, await store.records(), options);
}

/**
 * The records of all checks and their pending updates.
 *
 * Invariant: recorded results are persisted once `flush` resolves, or the store can't be written at this time (a full
 * disk). Then they are pending here, and every change of a confirmed condition is persisted, once, when the store can
 * be written.
 */
export class StateRepository {
  /** When the service ended that ran before this process; `null`: none is known. */
  readonly ranUntilMs: number | null;
  readonly #store: ReplaceableStore;
  readonly #cache: RecordCache;
  readonly #buffer: WriteBehindBuffer;
  /** When this or an earlier process last recorded a result before this repository was opened. */
  readonly #lastResultAtMs: number;
  #overtaken = (_checks: readonly string[]): void => {};
  /** Whether `prune` is between two of its steps. */
  #isPruning = false;

  /** Uses a store and its records; see {@linkcode openStateRepository}. */
  constructor(
    store: ReplaceableStore,
    records: readonly CheckRecord[],
    { ranUntilMs = null }: Pick<StateRepositoryOptions, "ranUntilMs">,
  ) {
    this.#store = store;
    this.#cache = new RecordCache(records);
    this.#buffer = new WriteBehindBuffer(async (batch) => {
      const replaced = await store.save(batch, () => this.#cache.all().map(bareUpdate));
      if (replaced === null) return false;
      if (replaced.length === 0) return true;
      this.adopt(replaced);
      this.#overtaken(replaced.map(({ name }) => name));
      return true;
    });
    this.ranUntilMs = ranUntilMs;
    if (ranUntilMs !== null) this.settle(ranUntilMs);
    this.#lastResultAtMs = records.reduce(
      (ms, { condition }) => Math.max(ms, condition.observedAtMs ?? 0),
      0,
    );
  }

  /** The store in use; another one after a damaged one was replaced. */
  get store(): Store {
    return this.#store.store;
  }

  /** Whether the last write succeeded. */
  get isWritable(): boolean {
    return this.#store.isWritable;
  }

  /**
   * Returns whether to flush now rather than with later updates: a confirmed condition changed, a notification is
   * due, or very many updates are pending. Never while the store can't be written, else each result would be another
   * attempt.
   */
  get isUrgent(): boolean {
    return this.isWritable && this.#buffer.isUrgent;
  }

  /** How many updates are not persisted yet. */
  get pending(): number {
    return this.#buffer.count;
  }

  /** The record of a check; a new one if it never ran. */
  recordOf(name: string, nowMs: number): CheckRecord {
    return this.#cache.get(name, nowMs);
  }

  /** What the last runs of all checks depended on. */
  get attributes(): AttributeIndex {
    return this.#cache.attributes;
  }

  /**
   * Calls back when another process has written records of some checks, so that results that were recorded here don't
   * count.
   */
  onOvertaken(callback: (checks: readonly string[]) => void): void {
    this.#overtaken = callback;
  }

  /** Calls back when writes succeed again. */
  onWritable(callback: () => void): void {
    this.#store.onWritable(callback);
  }

  /** Replaces a record. `flush` persists it; at once if that is urgent, see {@linkcode isUrgent}. */
  keep(update: CheckUpdate, options?: { readonly isUrgent: boolean }): void {
    this.#cache.set(update.record);
    this.#buffer.add(update, options);
  }

  /** Notes when a check that never ran is to run. `flush` persists it. */
  plan(name: string, atMs: number, nowMs: number): void {
    this.keep(bareUpdate({ ...this.recordOf(name, nowMs), nextRunAtMs: atMs }));
  }

  /** Removes the planned runs of all checks but these, as {@linkcode leave} does. */
  leaveOthers(checks: readonly Pick<Check, "name" | "parameters">[], untilMs = Infinity): void {
    const running = new Set(checks.map(({ name }) => name));
    this.leave((name) => !running.has(name), { checks, untilMs });
  }

  /**
   * Removes the planned runs of checks that nothing runs now: their conditions are unknown until they run again. Groups of
   * them run again at once. Checks that ran after a time are left alone. `flush` persists it.
   */
  leave(
    isLeft: (name: string) => boolean,
    { checks, untilMs = Infinity }: {
      /** Those that run. */
      readonly checks: readonly Pick<Check, "name" | "parameters">[];
      readonly untilMs?: number;
    },
  ): void {
    let left = this.#leave(({ name }) => isLeft(name), untilMs);
    while (left.size > 0) {
      const groups = checks.filter((check) => combinedChecks(check).some((name) => left.has(name)));
      const names = new Set(groups.map(({ name }) => name));
      left = this.#leave(({ name }) => names.has(name), untilMs);
    }
  }

  #leave(isLeft: (record: CheckRecord) => boolean, untilMs: number): ReadonlySet<string> {
    const left = new Set<string>();
    for (const before of this.#cache.all()) {
      const { name, nextRunAtMs, condition: { observedAtMs } } = before;
      if (nextRunAtMs === null || observedAtMs === null || observedAtMs > untilMs || !isLeft(before)) {
        continue;
      }
      left.add(name);
      this.keep(bareUpdate({ ...before, nextRunAtMs: null, overdueAtMs: observedAtMs }));
    }
    return left;
  }

  /** Counts the time until checks were no longer observed: nothing more is until their next runs. `flush` persists it. */
  settle(endMs: number): void {
    for (const before of this.#cache.all()) {
      const update = settleRecord(before, endMs);
      if (update !== null) this.keep(update);
    }
  }

  /** Begins again with checks that left the config: one that comes back is pending. `flush` persists it. */
  beginAgain(checks: Iterable<string>, nowMs: number): void {
    for (const name of checks) {
      const before = this.recordOf(name, nowMs);
      // A channel that does not get the end of the problem gets its recovery.
      const { notifiedAtMs, notifiedProblemBeganAtMs } = before.condition;
      const condition = { ...initialState(), notifiedAtMs, notifiedProblemBeganAtMs };
      this.keep(bareUpdate({ ...before, condition, failing: null, overdueAtMs: null }));
    }
  }

  amend(changed: readonly QueuedNotification[]): void {
    this.#buffer.amend(changed);
  }

  flush(): Promise<void> {
    return this.#buffer.flush();
  }

  /** Adopts records that another process wrote; pending results that were recorded here on top of older ones don't count. */
  adopt(records: readonly CheckRecord[]): void {
    this.#buffer.drop(new Set(records.map(({ name }) => name)));
    for (const record of records) this.#cache.set(record);
  }

  /** Records that the config has these checks and prunes a bounded part of the old data; call again if not finished. */
  async prune({ checks, retentionMs = null }: KeptConfig, nowMs: number): Promise<PruneProgress> {
    // Once for all steps: going through all checks costs more than a step.
    if (!this.#isPruning) {
      const names = new Set(checks.map((check) => check.name));
      for (const record of this.#cache.see(names, nowMs)) this.#buffer.add(bareUpdate(record));
    }
    await this.flush();
    const progress = await this.#store.prune(nowMs, retentionMs);
    this.#cache.forget(progress.forgotten, nowMs);
    this.#isPruning = !progress.finished;
    return progress;
  }

  /** Ends a single pass: writes pending updates, and prunes everything in the first process of each hour. */
  async finish(config: KeptConfig, nowMs: number): Promise<void> {
    await this.flush();
    if (Math.floor(this.#lastResultAtMs / HOUR_MS) === Math.floor(nowMs / HOUR_MS)) return;
    while (!(await this.prune(config, nowMs)).finished);
  }
}
