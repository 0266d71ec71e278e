import type { QueuedNotification } from "../domain/outbox.ts";
import type { CheckRecord, CheckUpdate } from "../domain/store.ts";

const URGENT_COUNT = 500;
/** With more pending updates than this, their hourly aggregates are dropped. */
const AGGREGATED_COUNT_MAX = 10_000;
/** With more pending changes than this, the oldest are dropped. */
const CHANGES_MAX = 100_000;

/** Writes a batch; resolves to whether it was written. */
type Save = (batch: readonly CheckUpdate[]) => Promise<boolean>;

/**
 * The updates that are not persisted yet (write-behind).
 *
 * Invariants: updates are written in the order in which they were added, one batch at a time. A batch that can't be
 * written goes back before later updates, merged: every change stays, of records the last one alone.
 */
export class WriteBehindBuffer {
  readonly #save: Save;
  #pending: CheckUpdate[] = [];
  #hasUrgent = false;
  /** The outcomes of notifications since their update was added, by id. */
  readonly #amended = new Map<string, QueuedNotification>();
  #lastWrite: Promise<void> = Promise.resolve();
  /** The write that has not begun yet, which includes everything that is added until then. */
  #nextWrite: Promise<void> | null = null;

  constructor(save: Save) {
    this.#save = save;
  }

  get count(): number {
    return this.#pending.length;
  }

  /** Returns whether to write now rather than with later updates. */
  get isUrgent(): boolean {
    return this.#hasUrgent || this.#pending.length >= URGENT_COUNT;
  }

  add(update: CheckUpdate, { isUrgent = false }: { readonly isUrgent?: boolean } = {}): void {
    this.#pending.push(update);
    if (isUrgent) this.#hasUrgent = true;
  }

  drop(names: ReadonlySet<string>): void {
    this.#pending = this.#pending.filter(({ record }) => !names.has(record.name));
  }

  /**
   * Notes the present state of notifications whose update may be pending, so that it isn't written with an older one. A
   * notification that is done stays as it was at its last attempt until that is persisted: after a crash in between, it
   * is sent again as a duplicate with the same id.
   */
  amend(changed: readonly QueuedNotification[]): void {
    for (const notification of changed) this.#amended.set(notification.id, notification);
  }

  flush(): Promise<void> {
    if (this.#nextWrite !== null) return this.#nextWrite;
    const write = this.#lastWrite.then(() => {
      this.#nextWrite = null;
      return this.#write();
    });
    this.#lastWrite = write.catch(() => {});
    return this.#nextWrite = write;
  }

  async #write(): Promise<void> {
    const batch = this.#pending.map((update) => this.#withAmended(update));
    this.#pending = [];
    this.#hasUrgent = false;
    let isWritten = batch.length === 0;
    try {
      isWritten ||= await this.#save(batch);
    } finally {
      if (isWritten) this.#amended.clear();
      else this.#pending = mergeUpdates([...batch, ...this.#pending]);
    }
  }

  #withAmended(update: CheckUpdate): CheckUpdate {
    if (!update.queued.some(({ id }) => this.#amended.has(id))) return update;
    return { ...update, queued: update.queued.map((queued) => this.#amended.get(queued.id) ?? queued) };
  }
}

export function bareUpdate(record: CheckRecord): CheckUpdate {
  return { record, rollup: null, change: null, queued: [] };
}

/**
 * Merges updates that can't be written: keeps every change, the journal, reports, the last record, and aggregates unless
 * there are too many.
 */
function mergeUpdates(updates: readonly CheckUpdate[]): CheckUpdate[] {
  const last = new Map(updates.map(({ record }) => [record.name, record]));
  const isFew = updates.length <= AGGREGATED_COUNT_MAX;
  const kept = updates
    .map((update) => ({ ...update, rollup: isFew ? update.rollup : null }))
    .filter(({ rollup, change, queued, journal, report }) =>
      rollup !== null || change !== null || queued.length > 0 || journal !== undefined || report !== undefined
    )
    .slice(-CHANGES_MAX)
    .map((update) => ({ ...update, record: last.get(update.record.name) ?? update.record }));
  for (const { record } of kept) last.delete(record.name);
  return [...kept, ...[...last.values()].map(bareUpdate)];
}
