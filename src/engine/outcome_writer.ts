/**
 * Persists the outcomes of deliveries.
 *
 * - In order, after the pending updates of the repository: an outcome is never older than its notification.
 * - Outcomes that can't be written are kept and retried with the next call, joined into one transaction.
 * - The replacement of a damaged store gets the complete outbox.
 */
import { addCounts, type ChannelCount, type OutboxChange } from "../domain/outbox.ts";
import { type KeptOutbox, type Store, StoreError } from "../domain/store.ts";
import type { StateRepository } from "../state/state_repository.ts";
import { joinChanges } from "./outbox_changes.ts";

interface OutcomeWriterOptions {
  readonly repository: Pick<StateRepository, "store" | "isWritable" | "flush" | "amend">;
  readonly counts: readonly ChannelCount[];
  snapshot(): Pick<KeptOutbox, "notifications" | "markers">;
  onBug(error: unknown): void;
}

export class OutcomeWriter {
  readonly #options: OutcomeWriterOptions;
  readonly #counts: Map<string, ChannelCount>;
  #pending: readonly OutboxChange[] = [];
  #writing: Promise<void> = Promise.resolve();
  /** Where everything was written so far. */
  #store: Store;
  #hasFailed = false;

  constructor(options: OutcomeWriterOptions) {
    this.#options = options;
    this.#counts = new Map(options.counts.map((count) => [count.channelKey, count]));
    this.#store = options.repository.store;
  }

  /** Accepted and rejected deliveries of each channel. */
  get counts(): readonly ChannelCount[] {
    return [...this.#counts.values()];
  }

  /** Whether all outcomes are persisted, or will be with the next ones. */
  get isWritable(): boolean {
    return !this.#hasFailed && this.#options.repository.isWritable;
  }

  /** Persists a change. Resolves when it is persisted, or can't be. */
  write(change: OutboxChange): Promise<void> {
    // Pending updates of the repository are written in their present form.
    this.#options.repository.amend(change.changed);
    for (const count of change.counted ?? []) {
      this.#counts.set(count.channelKey, addCounts(this.#counts.get(count.channelKey), count));
    }
    this.#pending = [...this.#pending, change];
    return this.retry();
  }

  /** Writes pending outcomes, because the state is writable again. */
  retry(): Promise<void> {
    return this.#writing = this.#writing.then(() => this.#writeAll()).catch(this.#options.onBug);
  }

  async #writeAll(): Promise<void> {
    const { repository } = this.#options;
    await repository.flush();
    if (repository.store !== this.#store) {
      this.#store = repository.store;
      this.#pending = [this.#everything()];
    }
    while (this.#pending.length > 0 && repository.isWritable) {
      // One transaction, since each costs the disk a flush.
      const change = joinChanges(this.#pending);
      this.#pending = [];
      try {
        await repository.store.changeOutbox(change);
        this.#hasFailed = false;
      } catch (error) {
        this.#pending = [change, ...this.#pending];
        this.#hasFailed = true;
        // The repository logs it and tries to write again; then this is retried.
        if (error instanceof StoreError) return;
        throw error;
      }
    }
  }

  #everything(): OutboxChange {
    const { notifications, markers } = this.#options.snapshot();
    const ids = new Set(notifications.map(({ id }) => id));
    return {
      changed: notifications,
      // Notifications delivered during an outage may be among those that the repository has just written.
      removed: this.#pending.flatMap(({ removed }) => removed).filter((id) => !ids.has(id)),
      markers,
      cleared: [],
      counted: this.counts,
      logged: this.#pending.flatMap(({ logged = [] }) => logged),
    };
  }
}
