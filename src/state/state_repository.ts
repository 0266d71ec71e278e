import { initialState } from "../condition/condition_state.ts";
import { type Check, combinedChecks } from "../domain/check.ts";
import type { QueuedNotification } from "../domain/outbox.ts";
import {
  type CheckRecord,
  type CheckUpdate,
  type PruneProgress,
  type Store,
  StoreError,
} from "../domain/store.ts";
import { settleRecord } from "./availability.ts";
import { type AttributeIndex, RecordCache } from "./record_cache.ts";
import { bareUpdate, WriteBehindBuffer } from "./write_behind.ts";
import { HOUR_MS } from "../shared/time_units.ts";
import type { WorkShare } from "../domain/membership.ts";

/** The parts of a config that pruning needs. */
interface KeptConfig {
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

interface ReplaceableStoreOptions {
  /** Where records come from and go to; its opener closes it. */
  readonly store: Store;
  /** Whether it can't be read or written yet: then it begins without records. @default false */
  readonly isUnreachable?: boolean;
  /** Quarantines a damaged store and opens an empty one in its place. */
  reopen(error: StoreError): Promise<Store>;
  /** Called once with the error when writes begin to fail, and once with `null` when they succeed again. */
  onFailure(error: StoreError | null): void;
}

type Health =
  | { readonly status: "writable" }
  | { readonly status: "failing" }
  /** It is to be quarantined before the next write. */
  | { readonly status: "damaged"; readonly error: StoreError }
  /** It is new and lacks the data of the damaged one; writes to it have not succeeded yet. */
  | { readonly status: "replaced" };

/**
 * The store in use. A damaged one is quarantined and replaced at the next write.
 *
 * Invariants: the first batch of a replacement contains the complete state. `onFailure` is called only when
 * writability changes.
 */
class ReplaceableStore {
  readonly #options: ReplaceableStoreOptions;
  #store: Store;
  #health: Health = { status: "writable" };
  #onWritable = (): void => {};

  constructor(options: ReplaceableStoreOptions) {
    this.#options = options;
    this.#store = options.store;
    if (options.isUnreachable) this.#health = { status: "failing" };
  }

  get store(): Store {
    return this.#store;
  }

  onWritable(callback: () => void): void {
    this.#onWritable = callback;
  }

  get isWritable(): boolean {
    return this.#health.status === "writable";
  }

  /** Reads all records; none if the store is unreachable, those of a replacement if it is damaged. */
  async records(): Promise<readonly CheckRecord[]> {
    if (this.#options.isUnreachable) return [];
    try {
      return await this.#store.records();
    } catch (error) {
      if (!(error instanceof StoreError) || error.failure !== "damaged") throw error;
      this.#store = await this.#options.reopen(error);
      return await this.#store.records();
    }
  }

  /** Writes a batch, see {@linkcode Store.save}; `null`: not written. A replacement requires `everything` as well. */
  async save(
    batch: readonly CheckUpdate[],
    everything: () => readonly CheckUpdate[],
  ): Promise<readonly CheckRecord[] | null> {
    let saved = await this.#trySave(batch, everything);
    // A damaged store is replaced at once, but only once a call: every replacement may be damaged.
    if (saved instanceof StoreError && saved.failure === "damaged") {
      saved = await this.#trySave(batch, everything);
    }
    return saved instanceof StoreError ? null : saved;
  }

  /** Prunes some, see {@linkcode Store.prune}. A failure waits for the next write to be reported, except damage. */
  async prune(nowMs: number, journalMs: number | null): Promise<PruneProgress> {
    try {
      return await this.#store.prune(nowMs, journalMs);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (error.failure === "damaged") this.#fail(error);
      return { finished: true, forgotten: [] };
    }
  }

  async #trySave(batch: readonly CheckUpdate[], everything: () => readonly CheckUpdate[]) {
    let replaced: readonly CheckRecord[];
    try {
      if (this.#health.status === "damaged") {
        this.#store = await this.#options.reopen(this.#health.error);
        this.#health = { status: "replaced" };
      }
      replaced = await this.#store.save(
        this.#health.status === "replaced" ? [...everything(), ...batch] : batch,
      );
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#fail(error);
      return error;
    }
    const wasWritable = this.isWritable;
    this.#health = { status: "writable" };
    if (!wasWritable) {
      this.#options.onFailure(null);
      this.#onWritable();
    }
    return replaced;
  }

  #fail(error: StoreError): void {
    const wasWritable = this.isWritable;
    if (error.failure === "damaged") this.#health = { status: "damaged", error };
    else if (wasWritable) this.#health = { status: "failing" };
    if (wasWritable) this.#options.onFailure(error);
  }
}

interface WriteScheduleOptions {
  readonly repository: Pick<StateRepository, "flush" | "isUrgent" | "isWritable" | "pending">;
  /** Calls back once after a delay; the returned function cancels it. */
  after(delayMs: number, callback: () => void): () => void;
  onBug(error: unknown): void;
}

/** Results wait so long to be written together. */
const WRITE_AFTER_MS = 1_000;
/** The longest time between two attempts while the store can't be written. */
const RETRY_MS_MAX = 16_000;

/**
 * Flushes a repository at once if that is urgent, else within a second, and with exponential backoff while its store
 * can't be written.
 *
 * Invariant: while updates are pending, a flush is running or planned.
 */
export class WriteSchedule {
  readonly #options: WriteScheduleOptions;
  #cancel: (() => void) | null = null;
  #delayMs = WRITE_AFTER_MS;

  constructor(options: WriteScheduleOptions) {
    this.#options = options;
  }

  /** Call it after a result was recorded. Resolves once an urgent one is persisted, or the store can't be written. */
  recorded(): Promise<void> {
    if (this.#options.repository.isUrgent) return this.#flush();
    this.#plan();
    return Promise.resolve();
  }

  /** Cancels the planned flush; the caller flushes. */
  end(): void {
    this.#cancel?.();
  }

  async #flush(): Promise<void> {
    const { repository } = this.#options;
    this.#cancel?.();
    this.#cancel = null;
    try {
      await repository.flush();
      if (repository.isWritable) this.#delayMs = WRITE_AFTER_MS;
    } finally {
      if (repository.pending > 0) this.#plan();
    }
  }

  #plan(): void {
    const { repository, after, onBug } = this.#options;
    this.#cancel ??= after(this.#delayMs, () => {
      if (!repository.isWritable) this.#delayMs = Math.min(2 * this.#delayMs, RETRY_MS_MAX);
      this.#flush().catch(onBug);
    });
  }
}

interface PersistingOptions extends WriteScheduleOptions {
  readonly repository: StateRepository;
  /** The config as it is now, with every check of this process's share. */
  kept(): KeptConfig;
  readonly share: Pick<WorkShare, "prunes">;
  nowMs(): number;
}

const PRUNE_EVERY_MS = 3_600_000;
/** Between two steps of one pruning. */
const PRUNE_STEP_AFTER_MS = 1_000;

/** Starts a write schedule, and prunes now and every hour, in steps. */
export function startPersisting(options: PersistingOptions): WriteSchedule {
  const { repository, kept, share, nowMs, after, onBug } = options;
  const prune = async (): Promise<void> => {
    if (!share.prunes) return void after(PRUNE_EVERY_MS, () => void prune().catch(onBug));
    const { finished } = await repository.prune(kept(), nowMs());
    after(finished ? PRUNE_EVERY_MS : PRUNE_STEP_AFTER_MS, () => void prune().catch(onBug));
  };
  prune().catch(onBug);
  return new WriteSchedule(options);
}
