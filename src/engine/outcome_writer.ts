/**
 * Persists the outcomes of deliveries.
 *
 * - In order, after the pending updates of the repository: an outcome is never older than its notification.
 * - Outcomes that can't be written are kept and retried with the next call, joined into one transaction.
 * - The replacement of a damaged store gets the complete outbox.
 */
import {
  addCounts,
  type ChannelCount,
  type DeliveryMarker,
  type LoggedDelivery,
  type OutboxChange,
  type QueuedNotification,
  type SentOpen,
} from "../domain/outbox.ts";
import { type KeptOutbox, type Store, StoreError } from "../domain/store.ts";
import type { StateRepository } from "../state/state_repository.ts";
import { markerKey } from "./delivery_markers.ts";

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

/** Returns one change with the effect of several, in order. */
export function joinChanges(changes: readonly OutboxChange[]): OutboxChange {
  const [only, ...others] = changes;
  if (only !== undefined && others.length === 0) return only;
  const changed = new Map<string, QueuedNotification>();
  const removed = new Set<string>();
  const delivered = new Set<string>();
  const markers = new Map<string, DeliveryMarker>();
  const cleared = new Map<string, OutboxChange["cleared"][number]>();
  const counted = new Map<string, ChannelCount>();
  const sentOpen = new Map<string, SentOpen>();
  const notices = new Map<string, QueuedNotification>();
  const logged: LoggedDelivery[] = [];
  for (const change of changes) {
    for (const queued of change.changed) {
      changed.set(queued.id, queued);
      removed.delete(queued.id);
      delivered.delete(queued.id);
    }
    for (const notice of change.notices ?? []) notices.set(notice.id, notice);
    for (const id of change.removed) {
      notices.delete(id);
      changed.delete(id);
      removed.add(id);
    }
    for (const id of change.delivered ?? []) delivered.add(id);
    for (const marker of change.cleared) {
      markers.delete(markerKey(marker.check, marker.channelKey));
      cleared.set(markerKey(marker.check, marker.channelKey), marker);
    }
    for (const marker of change.markers) markers.set(markerKey(marker.check, marker.channelKey), marker);
    for (const count of change.counted ?? []) {
      counted.set(count.channelKey, addCounts(counted.get(count.channelKey), count));
    }
    logged.push(...change.logged ?? []);
    for (const sent of change.sentOpen ?? []) sentOpen.set(markerKey(sent.check, sent.channelKey), sent);
  }
  return {
    changed: [...changed.values()],
    removed: [...removed],
    ...delivered.size > 0 && { delivered: [...delivered] },
    markers: [...markers.values()],
    cleared: [...cleared.values()],
    counted: [...counted.values()],
    ...notices.size > 0 && { notices: [...notices.values()] },
    ...logged.length > 0 && { logged },
    ...changes.some((change) => change.sentOpen !== undefined) && { sentOpen: [...sentOpen.values()] },
  };
}
