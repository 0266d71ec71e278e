import type { WorkShare } from "../domain/membership.ts";
import type { KeptConfig, StateRepository } from "./state_repository.ts";

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
