import {
  type CheckRecord,
  type CheckUpdate,
  type PruneProgress,
  type Store,
  StoreError,
} from "../domain/store.ts";

export interface ReplaceableStoreOptions {
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
export class ReplaceableStore {
  readonly #options: ReplaceableStoreOptions;
  #store: Store;
  #health: Health = { status: "writable" };
  #onWritable = (): void => {};

  constructor(options: ReplaceableStoreOptions) {
    this.#options = options;
    this.#store = options.store;
    if (options.isUnreachable) this.#health = { status: "failing" };
  }

  /** The store; another one after a replacement. */
  get store(): Store {
    return this.#store;
  }

  /** Calls back when writes succeed again. */
  onWritable(callback: () => void): void {
    this.#onWritable = callback;
  }

  /** Whether the last write succeeded. */
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
